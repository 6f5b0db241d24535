"""What ``osrc doctor`` looks at, one file a subject. Each check yields findings; one that breaks hides no other."""
