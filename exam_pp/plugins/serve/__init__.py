"""The live workbench: ratings and changes of the test bank, and the leaderboard that moves with them."""
