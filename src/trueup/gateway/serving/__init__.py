"""Around the application: connections and their deadlines, workers, reloads, and the care of the store."""
