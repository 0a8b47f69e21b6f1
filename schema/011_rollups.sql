-- What pages list of a concluded bake-off, computed once instead of for every view.

CREATE FUNCTION case_verdicts(p_bakeoff_id BIGINT, p_ranked BIGINT[])
RETURNS TABLE (case_id TEXT, ordinal INT, stratum TEXT, verdicts TEXT, n_pass INT, n_fail INT, n_error INT,
               disagrees BOOLEAN, any_fail BOOLEAN, all_fail BOOLEAN, has_error BOOLEAN)
LANGUAGE sql STABLE AS $$
    WITH answered AS (
        SELECT o.run_id, o.case_id, count(*) FILTER (WHERE o.verdict = 'passed') AS passed,
               count(*) FILTER (WHERE o.verdict = 'failed') AS failed,
               count(*) FILTER (WHERE o.verdict = 'errored') AS errored,
               o.run_id = ANY(p_ranked) AS is_ranked
        FROM outcomes o WHERE o.bakeoff_id = p_bakeoff_id GROUP BY o.run_id, o.case_id
    ), listed AS (
        SELECT a.case_id,
               string_agg(a.run_id || CASE WHEN a.passed > 0 AND a.failed > 0 THEN 'm' WHEN a.passed > 0 THEN 'p'
                          WHEN a.failed > 0 THEN 'f' WHEN a.errored > 0 THEN 'e' ELSE 'w' END, ' ' ORDER BY a.run_id) AS verdicts,
               sum(a.passed) FILTER (WHERE a.is_ranked) AS passed, sum(a.failed) FILTER (WHERE a.is_ranked) AS failed,
               sum(a.errored) AS errored
        FROM answered a GROUP BY a.case_id
    )
    SELECT c.case_id, c.ordinal, c.stratum, l.verdicts, coalesce(l.passed, 0)::int, coalesce(l.failed, 0)::int,
           l.errored::int, coalesce(l.passed > 0 AND l.failed > 0, FALSE), coalesce(l.failed > 0, FALSE),
           coalesce(l.failed > 0 AND l.passed = 0, FALSE), l.errored > 0
    FROM listed l JOIN bakeoffs b ON b.id = p_bakeoff_id
    JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = l.case_id
$$;
COMMENT ON FUNCTION case_verdicts IS 'Each case of a bake-off with its verdicts; counts and disagreement are over the ranked runs only, since a broken judge is not a bad one.';

CREATE TABLE case_rollups (
    bakeoff_id      BIGINT NOT NULL REFERENCES bakeoffs (id),
    ordinal         INT NOT NULL,
    case_id         TEXT NOT NULL,
    stratum         TEXT NOT NULL,
    verdicts        TEXT NOT NULL,
    n_pass          INT NOT NULL,
    n_fail          INT NOT NULL,
    n_error         INT NOT NULL,
    disagrees       BOOLEAN NOT NULL,
    any_fail        BOOLEAN NOT NULL,
    all_fail        BOOLEAN NOT NULL,
    has_error       BOOLEAN NOT NULL,
    PRIMARY KEY (bakeoff_id, ordinal, case_id)
);
CREATE INDEX idx_case_rollups_disagrees ON case_rollups (bakeoff_id, ordinal) WHERE disagrees;
CREATE INDEX idx_case_rollups_any_fail ON case_rollups (bakeoff_id, ordinal) WHERE any_fail;
CREATE INDEX idx_case_rollups_all_fail ON case_rollups (bakeoff_id, ordinal) WHERE all_fail;
CREATE INDEX idx_case_rollups_has_error ON case_rollups (bakeoff_id, ordinal) WHERE has_error;
COMMENT ON TABLE case_rollups IS 'One row per case of a concluded bake-off, for lists: written when it concludes, replaced when it concludes again.';
COMMENT ON COLUMN case_rollups.verdicts IS 'Run number and letter, space-separated: p passed, f failed, m samples differ, e errored, w waits for people.';
