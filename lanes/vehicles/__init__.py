"""Programs that several lanes drive. A lane is a vehicle and who pays for it; lanes never import each other."""
