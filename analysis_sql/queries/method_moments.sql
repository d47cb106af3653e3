-- How well does each method do on each task set?
-- T and the exact integer moments of its counts of correct queries; n_tasks is the T of the
-- whole set, of which a method may have answered the first tasks only.
--
-- reads   results    one row a method and task: the submission's and the reference methods'
--         task_sets  one row a task set of the release
SELECT
    r.dataset,
    r.task_set,
    r.method,
    r.is_reference,
    s.n_tasks,
    s.n_query,
    count(*)                                    AS tasks,
    sum(r.n_correct::BIGINT)::BIGINT            AS total,
    sum(r.n_correct::BIGINT * r.n_correct)::BIGINT AS squares
FROM results AS r
JOIN task_sets AS s USING (dataset, task_set)
GROUP BY ALL
ORDER BY r.dataset, r.task_set, r.is_reference, r.method
