"""What happens when inputs are broken, disks are full and processes are killed."""
