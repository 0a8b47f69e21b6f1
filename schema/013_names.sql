-- What a user calls a bake-off: shown in lists, beside its number.

ALTER TABLE bakeoffs ADD COLUMN name TEXT CHECK (length(name) BETWEEN 1 AND 200);
COMMENT ON COLUMN bakeoffs.name IS 'given with --name; names need not be different';
