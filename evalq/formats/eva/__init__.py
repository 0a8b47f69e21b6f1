"""eva: prompts in folders, loaded with their exams, evaluated, examined and promoted."""
