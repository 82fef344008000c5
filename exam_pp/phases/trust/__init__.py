"""Trust in a grader: panels, samples for people, canaries, and the gate."""
