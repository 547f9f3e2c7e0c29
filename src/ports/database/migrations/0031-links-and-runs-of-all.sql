-- Operators see links of all users by age, and the runs of all that are under way.
CREATE INDEX links_by_age ON links (created_at, id);
CREATE INDEX executions_running ON executions (started_at, id) WHERE reason = 'running';
