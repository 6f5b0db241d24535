"""Any agent that speaks the Agent Client Protocol over stdio: what is the same whichever agent it is."""
