-- One act of sending (design 12). A target is a small aggregate with its own owner, generation and lease; the
-- delivery row is its own reservation. `store/deliveries.py` calls these. A sender holds no transaction while it
-- sends. Lock order: contents by digest, then the target, then its rows.

alter table delivery_target
  add column retry_at timestamptz, -- nothing is tried before: set after a failed try, whichever revision is next
  add column again_at timestamptz; -- the newest revision is sent once more: an edit of a lost owner may land late
alter table delivery
  add column reference text; -- what this revision left there: a message is edited, a folder is another each time
create unique index delivery_reserved on delivery (target_id) where state = 'reserved';
create index delivery_target_again on delivery_target (again_at) where again_at is not null;

-- Whether there is something to do for a sender now. A reserved revision goes first, once its deadline has
-- passed; a first send whose outcome nobody can know blocks the target until a human has looked. Nothing is due while
-- its workspace is halted.
create function is_due(t delivery_target) returns boolean
language plpgsql stable set search_path = inquest, pg_temp as $$
begin
  return coalesce(t.lease_expires_at <= clock_timestamp(), true)
    and coalesce(t.retry_at <= clock_timestamp(), true)
    and not waits_for_thread(t)
    and not exists (select from halt h where h.workspace in (t.workspace, ''))
    and case
      when exists (select from delivery d where d.target_id = t.target_id and d.state = 'reserved')
      then exists (select from delivery d where d.target_id = t.target_id and d.state = 'reserved'
                   and d.send_deadline <= clock_timestamp())
      when t.reference is null
        and exists (select from delivery d where d.target_id = t.target_id and d.state = 'unknown_outcome')
      then false
      else coalesce(t.again_at <= clock_timestamp(), false)
        or exists (select from delivery d where d.target_id = t.target_id and d.state = 'planned'
                   and coalesce(d.not_before <= clock_timestamp(), true))
    end;
end $$;

-- Takes the target when something is due there; no row, and nothing changed, when not. Of the revisions that are
-- due the newest is sent and older ones are superseded.
create function claim_target(p_target text, p_owner text, p_lease_ms int, p_again_ms int) returns table (
  target_id text, generation int, investigation_id text, episode_id text, workspace text, destination text,
  revision int, kind text, note text, step text, attempts int, reference text, planned_at timestamptz, origin jsonb,
  thread_root text, thread_is_own boolean
)
language plpgsql set search_path = inquest, pg_temp as $$
#variable_conflict use_column
declare
  t delivery_target;
  d delivery;
  looking boolean;
begin
  select x.* into t from delivery_target x where x.target_id = p_target for no key update;
  if not found or not is_due(t) then
    return;
  end if;
  select x.* into d from delivery x where x.target_id = p_target and x.state = 'reserved';
  looking := found and t.reference is null;
  if found and not looking then
    -- An edit repeats safely, but the lost one may still land after ours: the newest is sent once more later.
    update delivery x set state = 'planned' where x.target_id = p_target and x.revision = d.revision;
    t.again_at := clock_timestamp() + make_interval(secs => p_again_ms / 1000.0);
  end if;
  if not looking then
    d := choose_planned(t);
    if d.state = 'sent' then
      t.again_at := null;
    end if;
    update delivery x
    set state = case when x.revision = d.revision then 'planned' else 'superseded' end,
        attempts = case when x.revision = d.revision then d.attempts else x.attempts end
    where x.target_id = p_target and x.revision <= d.revision and (x.state = 'planned' or x.revision = d.revision);
  end if;
  update delivery_target x
  set owner_id = p_owner, generation = x.generation + 1, retry_at = null, again_at = t.again_at, rung_at = null,
      lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
  where x.target_id = p_target returning x.* into t;
  return query
    select t.target_id, t.generation, i.investigation_id, i.episode_id, t.workspace, t.destination, d.revision,
      d.kind, d.note, case when looking then 'find' else 'send' end, d.attempts, t.reference,
      d.planned_at, i.origin, r.reference, coalesce(h.investigation_id = i.investigation_id, false)
    from investigation i
    left join thread_root r on r.episode_id = i.episode_id and r.destination = t.place and t.message <> ''
    left join delivery_target h on h.target_id = r.target_id
    where i.investigation_id = t.investigation_id;
end $$;

-- The newest planned revision that is due; without one, the newest that was sent, to be sent again.
create function choose_planned(t delivery_target) returns delivery
language plpgsql stable as $$
declare
  d delivery;
begin
  select x.* into d from delivery x
  where x.target_id = t.target_id and x.state = 'planned' and coalesce(x.not_before <= clock_timestamp(), true)
  order by x.revision desc limit 1;
  if not found then
    select x.* into d from delivery x
    where x.target_id = t.target_id and x.state = 'sent' order by x.revision desc limit 1;
    d.attempts := 0;
  end if;
  return d;
end $$;

create function check_target(p_target text, p_owner text, p_generation int) returns delivery_target
language plpgsql as $$
declare
  t delivery_target;
begin
  select x.* into t from delivery_target x where x.target_id = p_target for no key update;
  if not found then
    raise exception 'delivery target %', p_target using errcode = 'IQN01';
  elsif t.owner_id is distinct from p_owner or t.generation <> p_generation then
    raise exception '% is no longer owned by generation %', p_target, p_generation using errcode = 'IQF01';
  end if;
  return t;
end $$;

-- Stores what will be sent, and holds the target until the send must be over. An expired lease that nobody took
-- is good: nothing was sent under it.
create function reserve_send(
  p_target text, p_owner text, p_generation int, p_revision int, p_digest text, p_rendered bytea, p_send_ms int
) returns void
language plpgsql set search_path = inquest, pg_temp as $$
declare
  t delivery_target;
  ends timestamptz := clock_timestamp() + make_interval(secs => p_send_ms / 1000.0);
begin
  perform store_contents(x.workspace, x.investigation_id, array[p_digest], array[p_rendered])
  from delivery_target x where x.target_id = p_target;
  t := check_target(p_target, p_owner, p_generation);
  perform check_not_halted(t.workspace);
  update delivery d
  set state = 'reserved', owner_id = p_owner, generation = p_generation, fingerprint = p_digest,
      attempts = d.attempts + 1, send_deadline = ends
  where d.target_id = p_target and d.revision = p_revision and d.state = 'planned';
  if not found then
    raise exception 'revision % of % is not planned', p_revision, p_target using errcode = 'IQI01';
  end if;
  perform hold_thread(t);
  update delivery_target x set lease_expires_at = ends where x.target_id = p_target;
end $$;

-- Records how an act of sending ended (domain/delivery.py, Ending), and lets go. `p_looked`: it was a look for an
-- earlier send, which counts as a try when it saw nothing.
create function end_send(
  p_target text, p_owner text, p_generation int, p_revision int, p_ending text, p_reason text, p_reference text,
  p_wait_ms int, p_looked boolean
) returns void
language plpgsql set search_path = inquest, pg_temp as $$
declare
  t delivery_target := check_target(p_target, p_owner, p_generation);
  ended text := case p_ending
    when 'sent' then 'sent' when 'postponed' then 'planned' when 'uncertain' then 'reserved'
    when 'absent' then 'planned' when 'given_up' then 'failed' when 'unknowable' then 'unknown_outcome'
    when 'unsaid' then 'superseded' end;
begin
  update delivery d
  set state = ended, outcome = p_reason, reference = coalesce(p_reference, d.reference),
      sent_at = case when ended = 'sent' then clock_timestamp() else d.sent_at end,
      -- One that failed before it was reserved was a try, too.
      attempts = d.attempts + (d.state = 'planned' or p_looked and p_ending = 'uncertain')::int
  where d.target_id = p_target and d.revision = p_revision and d.state in ('planned', 'reserved');
  if not found then
    raise exception 'revision % of % is not to be sent', p_revision, p_target using errcode = 'IQI01';
  end if;
  perform settle_thread(t, ended, p_reference);
  update delivery_target x
  set reference = coalesce(p_reference, x.reference),
      retry_at = case when p_wait_ms > 0 then clock_timestamp() + make_interval(secs => p_wait_ms / 1000.0) end
  where x.target_id = p_target;
  perform release_target(p_target, p_owner, p_generation);
end $$;

-- Lets go of a target, and rings when something is due there.
create function release_target(p_target text, p_owner text, p_generation int) returns void
language plpgsql set search_path = inquest, pg_temp as $$
declare
  t delivery_target := check_target(p_target, p_owner, p_generation);
begin
  update delivery_target x set owner_id = null, lease_expires_at = null where x.target_id = p_target
  returning x.* into t;
  if is_due(t) then
    update delivery_target x set rung_at = clock_timestamp() where x.target_id = p_target;
    perform ring_target(p_target);
  end if;
end $$;

-- For the sweep: rings for targets with something due.
create function ring_targets(p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  ids text[];
begin
  ids := array(
    select t.target_id from delivery_target t
    where (t.again_at <= clock_timestamp()
        or t.target_id in (select d.target_id from delivery d where d.state in ('planned', 'reserved')))
      and not rung_lately(t.rung_at) and is_due(t)
    limit p_most for no key update skip locked);
  update delivery_target t set rung_at = clock_timestamp() where t.target_id = any (ids);
  perform ring_target(id) from unnest(ids) as id;
  return cardinality(ids);
end $$;

-- For a sender that is done with one: another of the same destination, the one that has waited longest.
create function next_due_target(p_workspace text, p_destination text) returns text
language sql stable set search_path = inquest, pg_temp as $$
  select t.target_id from delivery_target t
  join delivery d on d.target_id = t.target_id and d.state in ('planned', 'reserved')
  where t.workspace = p_workspace and t.destination = p_destination and is_due(t)
  order by d.planned_at, t.target_id limit 1
$$;
