"""Around the application: connections and their deadlines, workers, reloads, and upkeep of the store."""
