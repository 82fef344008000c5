"""Several phases in one command: `exam-pp evaluate rag` and `exam-pp tournament`."""
