-- Who may act: bells, claims and leases (design 6 "The claim decides", design 10 "Claim"). `store/claims.py` calls
-- these. A bell is no right: whichever id it names, the claim takes the most severe, then oldest, that may run.

-- The only two calls of the queue engine from SQL. Never lock or queueing_lock: a clash would roll the caller back.
create function defer_job(p_queue text, p_task text, p_id text) returns void
language sql as $$
  select procrastinate.procrastinate_defer_jobs_v1(array[row(
    p_queue, p_task, 0, null, null, jsonb_build_object('id', p_id), null
  )::procrastinate.procrastinate_job_to_defer_v1])
$$;

create function ring(p_investigation text) returns void
language sql set search_path = inquest, pg_temp as $$
  select defer_job('investigations', 'investigate', p_investigation)
$$;

create function ring_target(p_target text) returns void
language sql set search_path = inquest, pg_temp as $$
  select defer_job('deliveries', 'deliver', p_target)
$$;

-- A lease ended, so there is room: rings for the next one of the workspace, if one is due.
create function ring_next(p_workspace text) returns void
language sql set search_path = inquest, pg_temp as $$
  select ring(i.investigation_id) from (
    select x.investigation_id from investigation x
    where x.workspace = p_workspace and x.status = 'queued'
      and (x.not_before is null or x.not_before <= clock_timestamp())
    order by x.severity_rank desc, x.created_at limit 1
  ) i
$$;

create function lock_workspace(p_workspace text) returns void
language sql as $$
  select pg_advisory_xact_lock(hashtextextended('inquest/workspace/' || p_workspace, 0))
$$;

-- The wait after attempt `p_attempt` was charged: 1, 5, 25, 60 s. The last allowed attempt is followed at once by
-- the claim that ends the investigation; should that one die as well, it waits the longest time.
create function backoff(p_attempt int, p_max_attempts int) returns interval
language sql immutable as $$
  select case
    when p_attempt = p_max_attempts then interval '0'
    else make_interval(secs => (array[1, 5, 25, 60])[least(p_attempt, 4)])
  end
$$;

-- Whether its journal ends where its row says, and has not ended: else nothing can be appended, ever. Claims and sweeps
-- pass over the others, which `set_aside_broken` ends.
create function is_whole(i investigation) returns boolean
language sql stable as $$
  select i.version = 0
    or (select max(e.seq) from event e where e.investigation_id = i.investigation_id) is not distinct from i.version
      and not exists (select from event e where e.investigation_id = i.investigation_id
                      and e.kind in ('run_succeeded', 'run_failed', 'run_cancelled'))
$$;

-- Whether the next claim charges an attempt: the owner ended by a stage error, or died where it had claimed.
create function owes_attempt(i investigation) returns boolean
language sql immutable as $$
  select i.stage_error or (not i.released and i.version = i.claimed_version)
$$;

-- Whether this release can go on with it: left uncharged, otherwise, for a worker that can.
create function is_readable(i investigation, p_workflows text[], p_event_versions int[]) returns boolean
language sql stable as $$
  select i.workflow = any (p_workflows) and is_whole(i) and not exists (
    select from event e where e.investigation_id = i.investigation_id and e.schema_version <> all (p_event_versions))
$$;

create function room(p_limits jsonb, p_workspace text) returns int
language sql immutable as $$
  select coalesce(p_limits -> 'by_workspace' ->> p_workspace, p_limits ->> 'max_running')::int
$$;

-- Whether who asks has this workspace in its configuration: nobody else can run it, and none is charged for that.
create function is_served(p_limits jsonb, p_workspace text) returns boolean
language sql immutable as $$
  select coalesce(nullif(p_limits -> 'only', 'null') ? p_workspace, true)
$$;

-- Of the workspaces that have something to run and room for it, the one with the fewest running; between equals,
-- the one whose next is most severe, then oldest. Reads without a lock: the claim looks again under it.
create function next_workspace(p_limits jsonb, p_take_expired boolean, p_only text, p_skip text[]) returns text
language sql stable as $$
  select w.workspace from (
    select i.workspace,
      count(*) filter (where i.status = 'running') as running,
      bool_or(i.status = 'queued' and (i.not_before is null or i.not_before <= clock_timestamp())) as queued,
      bool_or(i.status = 'running' and i.lease_expires_at <= clock_timestamp()) as expired,
      max(i.severity_rank) filter (where i.status = 'queued') as severity,
      min(i.created_at) filter (where i.status = 'queued') as oldest
    from investigation i
    where i.status in ('queued', 'running') and (p_only is null or i.workspace = p_only)
      and i.workspace <> all (p_skip)
    group by i.workspace
  ) w
  where is_served(p_limits, w.workspace) and not exists (select from halt h where h.workspace in (w.workspace, ''))
    and ((w.queued and w.running < room(p_limits, w.workspace)) or (p_take_expired and w.expired))
  order by w.running, w.severity desc nulls last, w.oldest nulls last, w.workspace
  limit 1
$$;

-- Queues again, after a wait, those of a workspace whose owner died without having got anywhere. The claim that
-- follows the wait charges the attempt: `released` stays false.
create function put_back_the_dead(
  p_workspace text, p_workflows text[], p_event_versions int[], p_max_attempts int
) returns void
language sql as $$
  update investigation i
  set status = 'queued', owner_id = null, lease_expires_at = null,
      not_before = clock_timestamp() + backoff(i.attempt, p_max_attempts),
      rung_at = null -- the bell that brought this claim is spent: the next one is due with not_before
  where i.investigation_id in (
    select x.investigation_id from investigation x
    where x.workspace = p_workspace and x.status = 'running' and x.lease_expires_at <= clock_timestamp()
      and x.version = x.claimed_version and is_readable(x, p_workflows, p_event_versions)
    order by x.investigation_id for update skip locked)
$$;

-- The next midnight UTC when `p_workspace` ('' is the whole installation) has spent `p_usd_micros` today, else null;
-- null as well where there is no such ceiling. Reads without a lock.
create function day_spent(p_workspace text, p_usd_micros bigint) returns timestamptz
language sql stable as $$
  select (date_trunc('day', clock_timestamp() at time zone 'UTC') + interval '1 day') at time zone 'UTC'
  where coalesce((
      select d.usd_micros from spend_day d
      where d.workspace = p_workspace and d.day = (clock_timestamp() at time zone 'UTC')::date), 0) >= p_usd_micros
$$;

-- Defers to the next day what was queued before the day's dollars were spent; what has begun goes on.
create function defer_over_the_day(p_workspace text, p_limits jsonb) returns void
language plpgsql as $$
declare
  midnight timestamptz := coalesce(
    day_spent(p_workspace, (p_limits -> 'usd_micros_a_day' ->> p_workspace)::bigint),
    day_spent('', (p_limits ->> 'installation_usd_micros_a_day')::bigint));
  id text;
begin
  if midnight is null or not p_limits -> 'usd_micros_a_day' ? p_workspace then
    return;
  end if;
  for id in
    update investigation i
    set status = 'deferred', not_before = midnight, defer_reason = 'daily_usd', rung_at = null
    where i.investigation_id in (
      select x.investigation_id from investigation x
      where x.workspace = p_workspace and x.status = 'queued' and x.started_at is null
      order by x.investigation_id for update skip locked)
    returning i.investigation_id
  loop
    perform plan_deliveries(id, '[{"kind": "received", "note": "daily_usd"}]');
  end loop;
end $$;

-- Gives no row when no workspace has anything to run; a row without an investigation when the workspace that
-- looked best had nothing under its lock: the caller asks again, skipping it; or, `moved`, when another one looks best
-- by now: of claims at the same moment, all would take from the first. `p`: lease_ms, workflows,
-- event_versions, limits, take_expired, only, skip, schema_version.
create function claim(p_owner text, p jsonb) returns table (
  workspace text, investigation_id text, episode_id text, session_id text, workflow text, generation int,
  attempt int, version int, exhausted boolean, started_at timestamptz, now timestamptz,
  lease_expires_at timestamptz, moved boolean
)
language plpgsql set search_path = inquest, pg_temp as $$
#variable_conflict use_column
declare
  ws text;
  a investigation;
  workflows text[] := array(select jsonb_array_elements_text(p -> 'workflows'));
  event_versions int[] := array(select jsonb_array_elements_text(p -> 'event_versions')::int);
  skip text[] := array(select jsonb_array_elements_text(p -> 'skip'));
  max_attempts int := (p -> 'limits' ->> 'max_attempts')::int;
  has_room boolean;
begin
  ws := next_workspace(p -> 'limits', (p ->> 'take_expired')::boolean, p ->> 'only', skip);
  if ws is null then
    return;
  end if;
  perform lock_workspace(ws);
  if ws is distinct from next_workspace(p -> 'limits', (p ->> 'take_expired')::boolean, p ->> 'only', skip) then
    return query select ws, null::text, null::text, null::text, null::text, null::int, null::int, null::int,
      null::boolean, null::timestamptz, null::timestamptz, null::timestamptz, true;
    return;
  end if;
  perform defer_over_the_day(ws, p -> 'limits');
  if (p ->> 'take_expired')::boolean then
    perform put_back_the_dead(ws, workflows, event_versions, max_attempts);
  end if;
  has_room := (select count(*) from investigation i where i.workspace = ws and i.status = 'running')
    < room(p -> 'limits', ws);
  -- First ordered, then read: with a long queue, looking into every journal is what costs. A row that somebody
  -- holds is passed over: the workspace's lock is held here, and all its claims would wait with this one.
  select (c.i).* into a from (
    select i from investigation i
    where i.workspace = ws and i.status in ('queued', 'running')
      and ((has_room and i.status = 'queued' and (i.not_before is null or i.not_before <= clock_timestamp()))
        or ((p ->> 'take_expired')::boolean and i.status = 'running' and i.lease_expires_at <= clock_timestamp()))
    order by i.severity_rank desc, i.created_at, i.investigation_id offset 0 for update skip locked
  ) c
  where is_readable(c.i, workflows, event_versions)
  limit 1;
  if a.investigation_id is null or exists (select from halt h where h.workspace in (ws, '')) then
    return query select ws, null::text, null::text, null::text, null::text, null::int, null::int, null::int,
      null::boolean, null::timestamptz, null::timestamptz, null::timestamptz, false;
    return;
  end if;
  a := take_over(a, p_owner, (p ->> 'lease_ms')::int, (p ->> 'schema_version')::int);
  return query select ws, a.investigation_id, a.episode_id, a.session_id, a.workflow, a.generation, a.attempt,
    a.version, a.attempt > max_attempts, a.started_at, clock_timestamp(), a.lease_expires_at, false;
end $$;

-- Makes `p_owner` the owner, by the next generation. The event's body is written as RFC 8785 writes it.
create function take_over(a investigation, p_owner text, p_lease_ms int, p_schema_version int) returns investigation
language plpgsql as $$
declare
  why text := case when a.stage_error then 'stage_error' when a.released then 'released' else 'lease_expired' end;
  body text;
begin
  if owes_attempt(a) then
    a.attempt := a.attempt + 1;
  end if;
  a.generation := a.generation + 1;
  if a.version > 0 then
    body := format('{"attempt":%s,"generation":%s,"kind":"generation_advanced","owner_id":%s,"why":%s}',
                   a.attempt, a.generation, to_json(p_owner), to_json(why));
    perform append_events(a, array['generation_advanced'], array[convert_to(body, 'UTF8')], p_schema_version);
    a.version := a.version + 1;
  end if;
  update investigation i
  set status = 'running', owner_id = p_owner, generation = a.generation, attempt = a.attempt, version = a.version,
      claimed_version = a.version, released = false, stage_error = false, not_before = null, rung_at = null,
      lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0),
      started_at = coalesce(i.started_at, clock_timestamp())
  where i.investigation_id = a.investigation_id
  returning i.* into a;
  return a;
end $$;

create function renew_lease(p_investigation text, p_owner text, p_generation int, p_attempt int, p_lease_ms int)
returns timestamptz
language plpgsql set search_path = inquest, pg_temp as $$
declare
  ends timestamptz;
begin
  update investigation i set lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
  where i.investigation_id = p_investigation and i.status = 'running' and i.owner_id = p_owner
    and i.generation = p_generation and i.attempt = p_attempt
  returning i.lease_expires_at into ends;
  if not found then
    raise exception '% is no longer owned by generation %', p_investigation, p_generation using errcode = 'IQF01';
  end if;
  return ends;
end $$;

-- Lengthens the leases of one worker in one statement, waiting for no row: one that somebody holds is 'locked' and
-- asked for again, so that it costs no other its lease; 'lost' is one that is no longer this owner's.
create function renew_leases(p_ids text[], p_owners text[], p_generations int[], p_attempts int[], p_lease_ms int)
returns table (investigation_id text, generation int, answer text)
language sql set search_path = inquest, pg_temp as $$
  with asked as (
    select * from unnest(p_ids, p_owners, p_generations, p_attempts) as t (id, owner_id, generation, attempt)
  ), mine as (
    select i.investigation_id from investigation i join asked a on a.id = i.investigation_id
    where i.status = 'running' and i.owner_id = a.owner_id and i.generation = a.generation and i.attempt = a.attempt
    for no key update of i skip locked
  ), renewed as (
    update investigation i set lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    from mine m where i.investigation_id = m.investigation_id
    returning i.investigation_id, i.generation
  )
  select a.id, a.generation, case
      when r.investigation_id is not null then 'renewed'
      when exists (select from investigation i where i.investigation_id = a.id and i.status = 'running'
                   and i.owner_id = a.owner_id and i.generation = a.generation and i.attempt = a.attempt)
      then 'locked' else 'lost' end
  from asked a left join renewed r on r.investigation_id = a.id and r.generation = a.generation
$$;

-- The owner lets go. A drain costs nothing, takes back the dispatches that it cut, and rings for the same one; after
-- a stage error the next claim charges the attempt, once `not_before` has come. So it does after `p_free_stalls`
-- times in a row in which the database did not answer and the owner got nowhere: else a statement that always times
-- out would be tried for ever. What such an owner sent may have arrived, so its dispatches stay counted.
create function let_go(
  p_investigation text, p_owner text, p_generation int, p_attempt int,
  p_why text, -- drain, stage_error or unanswered
  p_max_attempts int, p_free_stalls int
) returns timestamptz
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  stalled int;
  charged boolean;
begin
  select * into a from investigation i where i.investigation_id = p_investigation for update;
  if not found then
    raise exception 'investigation %', p_investigation using errcode = 'IQN01';
  end if;
  perform check_fence(a, p_owner, p_generation, p_attempt);
  stalled := case when p_why <> 'unanswered' then a.stalls when a.version > a.claimed_version then 0
    else a.stalls + 1 end;
  charged := p_why = 'stage_error' or p_why = 'unanswered' and stalled > p_free_stalls;
  update investigation i
  set status = 'queued', owner_id = null, lease_expires_at = null, released = true, stage_error = charged,
      stalls = stalled,
      not_before = clock_timestamp() + case when charged then backoff(i.attempt, p_max_attempts)
        when p_why = 'unanswered' and stalled > 1 then backoff(stalled - 1, null) end
  where i.investigation_id = p_investigation
  returning i.not_before into a.not_before;
  if p_why = 'drain' then
    update effect e set dispatches = e.dispatches - 1
    where e.investigation_id = p_investigation and e.state = 'reserved' and e.generation = p_generation;
  end if;
  if a.not_before is null then
    perform ring(p_investigation);
  else
    perform ring_next(a.workspace);
  end if;
  return a.not_before;
end $$;
