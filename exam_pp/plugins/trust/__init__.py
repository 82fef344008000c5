"""How far scores and graders can be trusted: corrected scores, audits, panels, agreement, gates, samples."""
