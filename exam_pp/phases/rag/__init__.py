"""Several phases in one command: `exam-pp evaluate rag`."""
