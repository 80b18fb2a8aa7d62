"""Understanding text without a model: lines, titles, key terms, summaries and standing notes."""
