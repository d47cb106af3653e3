-- How do two methods differ on the tasks that both answered?
-- Paired by task_id: T, and the exact integer moments of both methods' counts of correct
-- queries and of their difference (method minus versus).
--
-- reads   pairs      the comparisons asked for: dataset, task_set, method, versus
--         results    one row a method and task: the submission's and the reference methods'
--         task_sets  one row a task set of the release
SELECT
    p.dataset,
    p.task_set,
    p.method,
    p.versus,
    s.n_query,
    count(*)                                                    AS tasks,
    sum(a.n_correct::BIGINT)::BIGINT                            AS total,
    sum(a.n_correct::BIGINT * a.n_correct)::BIGINT              AS squares,
    sum(b.n_correct::BIGINT)::BIGINT                            AS versus_total,
    sum(b.n_correct::BIGINT * b.n_correct)::BIGINT              AS versus_squares,
    sum(a.n_correct::BIGINT - b.n_correct)::BIGINT              AS difference_total,
    sum((a.n_correct::BIGINT - b.n_correct)
        * (a.n_correct::BIGINT - b.n_correct))::BIGINT          AS difference_squares
FROM pairs AS p
JOIN task_sets AS s USING (dataset, task_set)
JOIN results AS a
    ON a.dataset = p.dataset AND a.task_set = p.task_set AND a.method = p.method
JOIN results AS b
    ON b.dataset = p.dataset AND b.task_set = p.task_set AND b.method = p.versus
    AND b.task_id = a.task_id
GROUP BY ALL
ORDER BY p.dataset, p.task_set, p.method, p.versus
