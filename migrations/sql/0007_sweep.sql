-- What time alone changes, for every worker's sweep: each function does a bounded amount, skips the rows that
-- somebody else holds, and gives how many it changed. `store/sweep.py` calls these and nothing else.
-- Episodes are settled by `sweep_episodes`, beside `accept`, whose rules they share.

-- Tells the workers that a write from no owner moved the fence of an investigation (cancel, expiry, an answer,
-- a tombstone): its owner renews, finds its fence lost, and stops. Every such write calls this last.
create function fence_moved(p_investigation text) returns void
language sql set search_path = inquest, pg_temp as $$
  select pg_notify('inquest_fence', p_investigation)
$$;

-- A bell is rung at most once in five seconds for the same row; what accept rang counts too.
create function rung_lately(p_rung_at timestamptz) returns boolean
language sql stable as $$
  select coalesce(p_rung_at > clock_timestamp() - interval '5 seconds', false)
$$;

-- Rings for expired leases, and in each workspace for as many queued ones as there is room for; of those
-- workspaces only that who sweeps can run.
create function ring_investigations(p_limits jsonb, p_take_expired boolean, p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  ids text[];
begin
  ids := array(
    select i.investigation_id from investigation i
    where i.investigation_id in (
      select e.investigation_id from investigation e
      where p_take_expired and e.status = 'running' and e.lease_expires_at <= clock_timestamp()
        and is_served(p_limits, e.workspace)
      union all
      select q.investigation_id
      from (select distinct x.workspace from investigation x where x.status = 'queued') w
      cross join lateral (
        select x.investigation_id from investigation x
        where x.workspace = w.workspace and x.status = 'queued'
          and (x.not_before is null or x.not_before <= clock_timestamp())
        order by x.severity_rank desc, x.created_at
        limit greatest(0, room(p_limits, w.workspace)
          - (select count(*) from investigation r where r.workspace = w.workspace and r.status = 'running'))
      ) q
      where is_served(p_limits, w.workspace)
        and not exists (select from halt h where h.workspace in (w.workspace, '')))
      and not rung_lately(i.rung_at)
    limit p_most for no key update skip locked);
  update investigation i set rung_at = clock_timestamp() where i.investigation_id = any (ids);
  perform ring(id) from unnest(ids) as id;
  return cardinality(ids);
end $$;

-- Queues deferred ones whose time has come. One whose episode ended over an hour ago is of no use to anybody:
-- it ends cancelled. `p_cancelled` is the canonical body of that run_cancelled.
create function admit_deferred(p_cancelled bytea, p_schema_version int, p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  expired int := 0;
  ids text[];
begin
  for a in
    select i.* from investigation i join episode e using (episode_id)
    where i.status = 'deferred' and e.ended_at <= clock_timestamp() - interval '1 hour'
    limit p_most for no key update of i skip locked
  loop
    a.generation := a.generation + 1;
    perform append_events(a, array['run_cancelled'], array[p_cancelled], p_schema_version);
    update investigation i
    set status = 'cancelled', version = a.version + 1, generation = a.generation, not_before = null,
        ended_at = clock_timestamp()
    where i.investigation_id = a.investigation_id;
    perform plan_deliveries(a.investigation_id, '[{"kind": "cancelled", "note": "expired"}]');
    perform fence_moved(a.investigation_id);
    expired := expired + 1;
  end loop;
  ids := array(
    select i.investigation_id from investigation i
    where i.status = 'deferred' and i.not_before <= clock_timestamp()
    order by i.severity_rank desc, i.created_at
    limit p_most for no key update skip locked);
  update investigation i set status = 'queued', not_before = null, rung_at = clock_timestamp()
  where i.investigation_id = any (ids);
  perform ring(id) from unnest(ids) as id;
  return expired + cardinality(ids);
end $$;

-- Goes on without an answer. `p_expired` is the canonical body of the interrupt_expired, `p_until` the moment
-- that it names: from now, what was left of the wall clock when the question was asked.
create function expire_interrupt(
  p_interrupt text, p_until timestamptz, p_expired bytea, p_schema_version int
) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
begin
  select i.* into a from investigation i join interrupt q using (investigation_id)
  where q.interrupt_id = p_interrupt and q.answered_at is null and q.expires_at <= clock_timestamp()
    and i.status = 'waiting'
  for no key update of i, q skip locked;
  if not found then
    return 0;
  end if;
  update interrupt q set answered_at = clock_timestamp() where q.interrupt_id = p_interrupt;
  a.generation := a.generation + 1;
  perform append_events(a, array['interrupt_expired'], array[p_expired], p_schema_version);
  update investigation i
  set status = 'queued', version = a.version + 1, generation = a.generation, deadline_at = p_until,
      rung_at = clock_timestamp()
  where i.investigation_id = a.investigation_id;
  perform ring(a.investigation_id);
  perform fence_moved(a.investigation_id);
  return 1;
end $$;

-- Deletes the engine's rows that nobody will finish: done, or taken by a worker without a heartbeat for
-- `p_silence_s`. The work itself is never lost with them: the sweep rings for it.
create function delete_dead_jobs(p_silence_s int, p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  deleted int;
begin
  delete from procrastinate.procrastinate_jobs j
  where j.id in (
    select d.id from procrastinate.procrastinate_jobs d
    left join procrastinate.procrastinate_workers w on w.id = d.worker_id
    where d.status <> 'todo'
      and (w.id is null or w.last_heartbeat < clock_timestamp() - make_interval(secs => p_silence_s))
    limit p_most for update of d skip locked);
  get diagnostics deleted = row_count;
  return deleted;
end $$;
