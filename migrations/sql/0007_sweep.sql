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

-- Ends deferred ones whose episode ended over an hour ago: they are of no use to anybody. A re-run is: somebody asked
-- for it. `p_cancelled` is the canonical body of that run_cancelled.
create function expire_deferred(p_cancelled bytea, p_schema_version int, p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  expired int := 0;
begin
  for a in
    select i.* from investigation i join episode e using (episode_id)
    where i.status = 'deferred' and i.parent_id is null and e.ended_at <= clock_timestamp() - interval '1 hour'
      and is_whole(i)
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
  return expired;
end $$;

-- Queues deferred ones whose time has come.
create function admit_deferred(p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  ids text[];
begin
  ids := array(
    select i.investigation_id from investigation i
    where i.status = 'deferred' and i.not_before <= clock_timestamp()
    order by i.severity_rank desc, i.created_at
    limit p_most for no key update skip locked);
  update investigation i set status = 'queued', not_before = null, rung_at = clock_timestamp()
  where i.investigation_id = any (ids);
  perform ring(id) from unnest(ids) as id;
  return cardinality(ids);
end $$;

-- Ends, failed, what nobody can go on with: its journal is not whole, or its conclusion was tried `p_conclusions`
-- times after the attempts were used up and never got anywhere. Claims pass over the first and would take the
-- second for ever. Leases that run are left alone: their owners find out. `p_failed` is the canonical body of the
-- run_failed, `p_note` its reason.
create function set_aside_broken(
  p_take_expired boolean, p_max_attempts int, p_conclusions int, p_failed bytea, p_note text, p_schema_version int,
  p_most int
) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  broken int := 0;
begin
  for a in
    select i.* from investigation i
    where (i.status in ('deferred', 'queued', 'waiting')
        or p_take_expired and i.status = 'running' and i.lease_expires_at <= clock_timestamp())
      and (i.version > 0 and not is_whole(i) or i.attempt >= p_max_attempts + p_conclusions and owes_attempt(i))
    limit p_most for no key update of i skip locked
  loop
    perform set_aside(a, p_failed, p_note, p_schema_version);
    broken := broken + 1;
  end loop;
  return broken;
end $$;

-- Appends the end after whatever is left of the journal, chained to its last event: what is missing stays visible as
-- a gap, and a verifier names it. A journal that holds an end already gets no second one.
create function set_aside(a investigation, p_failed bytea, p_note text, p_schema_version int) returns void
language plpgsql as $$
declare
  last event;
  prev text;
begin
  select e.* into last from event e where e.investigation_id = a.investigation_id order by e.seq desc limit 1;
  prev := coalesce(last.body_digest, 'sha256:' || repeat('0', 64));
  a.generation := a.generation + 1;
  a.version := greatest(a.version, coalesce(last.seq, 0)) + 1;
  insert into event (investigation_id, seq, batch_id, generation, attempt, kind, schema_version, body, body_digest,
                     prev_digest)
  values (a.investigation_id, a.version, 'batch/' || a.version, a.generation, a.attempt, 'run_failed',
          p_schema_version, p_failed, chain_digest(prev, p_failed), prev)
  on conflict do nothing;
  if not found then
    a.version := last.seq;
  end if;
  update investigation i
  set status = 'failed', version = a.version, generation = a.generation, owner_id = null, lease_expires_at = null,
      released = true, stage_error = false, not_before = null, ended_at = clock_timestamp()
  where i.investigation_id = a.investigation_id;
  update effect e set state = 'abandoned' where e.investigation_id = a.investigation_id and e.state = 'reserved';
  perform plan_deliveries(a.investigation_id,
    jsonb_build_array(jsonb_build_object('kind', 'failed', 'note', p_note)));
  perform ring_next(a.workspace);
  perform fence_moved(a.investigation_id);
end $$;

-- Goes on without an answer. `p_expired` is the canonical body of the interrupt_expired, `p_until` the moment
-- that it names: from now, what was left of the wall clock when the question was asked. `p_note` is what the readers of
-- the question are told in its place.
create function expire_interrupt(
  p_interrupt text, p_until timestamptz, p_expired bytea, p_note text, p_schema_version int
) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
begin
  select i.* into a from investigation i join interrupt q using (investigation_id)
  where q.interrupt_id = p_interrupt and q.answered_at is null and q.expires_at <= clock_timestamp()
    and i.status = 'waiting' and is_whole(i)
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
  perform plan_deliveries(a.investigation_id, jsonb_build_array(jsonb_build_object('kind', 'progress', 'note', p_note)));
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
