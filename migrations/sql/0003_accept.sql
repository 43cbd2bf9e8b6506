-- Taking a post in: design 6, the whole of it in one function and one round trip. `accept` locks the rows of
-- its groups, in key order, and waits for nothing else but the targets whose revisions it plans. Everything
-- that changes an episode holds its group's row, so an episode's version moves in commit order.

create function new_id() returns text language sql volatile as $$
  -- UUIDv7 without dashes: milliseconds since 1970, then chance.
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6),
      52, 1), 53, 1),
    'hex')
$$;

-- ---- revisions planned for an episode ------------------------------------------------------------------

create function plan_for_episode(p_episode_id text, p_kind text, p_now timestamptz) returns void
language plpgsql as $$
-- Plan a `members` or `resolved` revision for every target of the episode's investigations. A revision is
-- rendered when its sender claims it, so one that is still planned shows the members of then: another
-- `members` beside it would say nothing, and `members` comes at most once a minute.
declare
  v_targets text[];
  v_target record;
  v_newest record;
  v_not_before timestamptz;
  v_ring text[] := '{}';
begin
  v_targets := array(
    select t.target_id from (
      select investigation_id from investigation where episode_id = p_episode_id and status <> 'deleting' offset 0) i
    cross join lateral (
      select target_id from delivery_target where investigation_id = i.investigation_id offset 0) t);
  for v_target in
    select target_id from delivery_target where target_id = any (v_targets) order by target_id for no key update
  loop
    select kind, state into v_newest from delivery where target_id = v_target.target_id
      order by revision desc limit 1;
    continue when v_newest.state = 'planned' and (v_newest.kind = p_kind or p_kind = 'members' and v_newest.kind <> 'resolved');
    v_not_before := null;
    if p_kind = 'members' then
      select max(coalesce(not_before, planned_at)) + interval '1 minute' into v_not_before
        from delivery where target_id = v_target.target_id and kind = 'members' and state <> 'superseded';
      v_not_before := nullif(greatest(v_not_before, p_now), p_now);
    end if;
    with numbered as (
      update delivery_target set next_revision = next_revision + 1,
        rung_at = case when v_not_before is null then p_now else rung_at end
      where target_id = v_target.target_id returning next_revision - 1 as revision)
    insert into delivery (target_id, revision, kind, state, not_before, planned_at)
      select v_target.target_id, revision, p_kind, 'planned', v_not_before, p_now from numbered;
    if v_not_before is null then
      v_ring := v_ring || v_target.target_id;
    end if;
  end loop;
  perform ring_target(id) from unnest(v_ring) id;
end $$;

-- ---- the life of an episode ----------------------------------------------------------------------------

create function settle_episodes(p_episode_ids text[], p_now timestamptz) returns void language plpgsql as $$
-- Bring live episodes up to `p_now`: members silent for stale_after stop firing, an episode without a firing
-- member is quiet and its `resolved` is planned, one that was quiet for quiet_for has ended. May be called at
-- any time and twice; the caller holds the rows of their groups.
declare
  v_episode record;
  v_last_post timestamptz;
  v_ended text[];
begin
  for v_episode in
    select e.episode_id, e.stale_after from unnest(p_episode_ids) id cross join lateral (
      select * from episode x where x.episode_id = id limit 1) e
    where e.ended_at is null and e.next_stale_at <= p_now
  loop
    with stale as (
      update alert a set status = 'resolved', stale = true, changed_version = e.version + 1
      from episode e
      where e.episode_id = v_episode.episode_id and a.episode_id = e.episode_id
        and a.status = 'firing' and a.last_seen <= p_now - e.stale_after
      returning a.last_seen)
    select max(last_seen) into v_last_post from stale;
    update episode e set version = version + case when v_last_post is null then 0 else 1 end,
      -- A repeat only moves last_seen forward, so nobody can go stale before the one who was silent longest.
      next_stale_at = coalesce((select min(a.last_seen) from alert a
        where a.episode_id = e.episode_id and a.status = 'firing'), p_now) + e.stale_after
    where e.episode_id = v_episode.episode_id;
    perform note_quiet(v_episode.episode_id, coalesce(v_last_post + v_episode.stale_after, p_now), p_now);
  end loop;
  for v_episode in
    select e.episode_id from unnest(p_episode_ids) id cross join lateral (
      select x.episode_id, x.ended_at, x.quiet_since, (
        select true from alert a where a.episode_id = x.episode_id and a.status = 'firing' limit 1) is true as fires
      from episode x where x.episode_id = id limit 1) e
    where e.ended_at is null and (e.quiet_since is not null) = e.fires
  loop
    perform note_quiet(v_episode.episode_id, p_now, p_now);
  end loop;
  v_ended := array(
    select e.episode_id from unnest(p_episode_ids) id cross join lateral (
      select x.episode_id, x.ended_at, x.quiet_since + x.quiet_for as ends_at
      from episode x where x.episode_id = id limit 1) e
    where e.ended_at is null and e.ends_at <= p_now);
  update episode set ended_at = quiet_since + quiet_for where episode_id = any (v_ended);
end $$;

create function note_quiet(p_episode_id text, p_since timestamptz, p_now timestamptz) returns void
language plpgsql as $$
-- Write down whether the episode is quiet, as of `p_since`, and plan the revision that says so.
begin
  if exists (select 1 from alert where episode_id = p_episode_id and status = 'firing') then
    update episode set quiet_since = null where episode_id = p_episode_id and quiet_since is not null;
    if found then
      perform plan_for_episode(p_episode_id, 'members', p_now);
    end if;
  else
    update episode set quiet_since = p_since where episode_id = p_episode_id and quiet_since is null;
    if found then
      perform plan_for_episode(p_episode_id, 'resolved', p_now);
    end if;
  end if;
end $$;

create function sweep_episodes(p_most int) returns int language plpgsql as $$
-- Settle at most `p_most` live episodes that time alone has changed, and give how many. For every worker's
-- sweep: groups that somebody else holds are left to him.
declare
  v_ids text[];
begin
  v_ids := array(
    select g.episode_id from alert_group g
    where (g.workspace, g.group_key) in (
      select e.workspace, e.group_key from episode e
      where e.ended_at is null and least(e.next_stale_at, e.quiet_since + e.quiet_for) <= clock_timestamp()
      limit p_most)
    order by g.workspace, g.group_key for no key update of g skip locked);
  perform settle_episodes(v_ids, clock_timestamp());
  return cardinality(v_ids);
end $$;

-- ---- accept --------------------------------------------------------------------------------------------

create type posted as (
  n int,                   -- place in the post, from 1
  fingerprint text,
  starts_at timestamptz,   -- null where the sender gave none
  ends_at timestamptz,
  firing boolean,
  name text,
  severity_rank int,
  group_key text,
  heartbeat boolean,
  body bytea,              -- canonical bytes of domain.alert.Alert
  times int                -- members of the post that it stands for
);

create type intake_rules as (
  workspace text,
  intake text,
  source text,
  quiet_for interval,
  stale_after interval,
  cooldown interval,
  max_new_per_hour int,
  workspace_usd_micros bigint,     -- daily ceilings; null: none
  installation_usd_micros bigint,
  destinations text[],
  workflow text
);

create type opening as (
  group_key text,
  episode_id text,
  previous_episode_id text,        -- of the group, ended
  carries_over boolean,            -- the previous one ends now, and its firing members go on here
  investigation_id text,
  opener int,
  name text,                       -- the opener's
  body bytea,
  severity_rank int,
  not_before timestamptz,
  defer_reason text
);

create function labels_of(p_body bytea) returns jsonb language sql immutable as $$
  select convert_from(p_body, 'UTF8')::jsonb -> 'labels'
$$;

create function lock_groups(p_rules intake_rules, p_members posted[]) returns text[] language plpgsql as $$
-- Lock the groups of the post, and those whose episodes hold rows that it may touch (a changed group_by moves
-- a fingerprint to another group while its row fires in the old one). Gives their current episodes.
declare
  v_keys text[];
begin
  v_keys := array(
    select distinct k from (
      select m.group_key as k from unnest(p_members) m
      union all
      select e.group_key from unnest(p_members) m cross join lateral (
        select a.episode_id from alert a
        where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = m.fingerprint
          and a.fires limit 1) held cross join lateral (
        select x.group_key from episode x where x.episode_id = held.episode_id limit 1) e
      union all
      select e.group_key from unnest(p_members) m cross join lateral (
        select a.episode_id from alert a
        where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = m.fingerprint
          and a.starts_at = m.starts_at limit 1) held cross join lateral (
        select x.group_key from episode x where x.episode_id = held.episode_id limit 1) e) named
    order by k);
  insert into alert_group (workspace, group_key)
    select p_rules.workspace, u.k from unnest(v_keys) with ordinality u (k, i) order by u.i
    on conflict (workspace, group_key) do update set group_key = excluded.group_key where false; -- locks it
  return array(
    select episode_id from alert_group
    where workspace = p_rules.workspace and group_key = any (v_keys) and episode_id is not null);
end $$;

create function take_resolved(p_rules intake_rules, p_members posted[], p_now timestamptz) returns text[]
language plpgsql as $$
-- Resolve the rows that these members end, and give their episodes. A resolve of an earlier stretch leaves a
-- row that fires since later; one of a stretch never seen here is kept as a row without an episode.
declare
  m record;
  v_episodes text[] := '{}';
begin
  for m in
    select p.*, f.alert_id, f.episode_id from unnest(p_members) p left join lateral (
      select a.alert_id, a.episode_id from alert a
      where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = p.fingerprint
        and a.fires
        and (p.starts_at is null or p.ends_at is null or p.starts_at = a.starts_at or p.ends_at >= a.starts_at
          or convert_from(a.body, 'UTF8')::jsonb ->> 'starts_at' is null) -- that start is our clock's
      limit 1) f on true
  loop
    if m.alert_id is not null then
      update alert a set status = 'resolved', stale = false, ends_at = m.ends_at, last_seen = p_now,
        changed_version = coalesce((select e.version + 1 from episode e where e.episode_id = m.episode_id), 0)
      where a.alert_id = m.alert_id;
      v_episodes := v_episodes || m.episode_id;
    elsif not exists (
      select 1 from alert a
      where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = m.fingerprint
        and (m.starts_at is null or a.starts_at = m.starts_at
          or m.ends_at >= a.starts_at and m.starts_at <= a.ends_at)) -- a peer's clock, the same stretch
    then
      insert into alert (alert_id, workspace, intake, fingerprint, starts_at, name, status, ends_at, severity_rank,
          body, labels, occurrences, first_seen, last_seen, heartbeat)
        values (new_id(), p_rules.workspace, p_rules.intake, m.fingerprint, coalesce(m.starts_at, p_now), m.name,
          'resolved', m.ends_at, m.severity_rank, m.body, labels_of(m.body), 0, p_now, p_now, m.heartbeat)
        on conflict do nothing;
    end if;
  end loop;
  return array(select distinct id from unnest(v_episodes) id where id is not null);
end $$;

create function take_repeats(
  p_rules intake_rules, p_members posted[], p_now timestamptz, out o_fingerprints text[], out o_touched text[],
  out o_changed text[]
) language plpgsql as $$
-- Count the members whose row fires, or did with the same starts_at in an episode that lives: the rows'
-- fingerprints, their episodes, and those episodes in which something fires again.
declare
  m record;
begin
  o_fingerprints := '{}';
  o_touched := '{}';
  o_changed := '{}';
  for m in
    select p.*, k.alert_id, k.status, k.since, k.episode_id from unnest(p_members) p cross join lateral (
      select a.alert_id, a.status, a.starts_at as since, a.episode_id from alert a
      where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = p.fingerprint
        and a.fires
      union all
      select a.alert_id, a.status, a.starts_at, a.episode_id from alert a
      where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = p.fingerprint
        and a.starts_at = p.starts_at and not a.fires
        and (a.heartbeat and p.heartbeat
          or (select e.ended_at is null from episode e where e.episode_id = a.episode_id limit 1))
      limit 1) k
  loop
    o_fingerprints := o_fingerprints || m.fingerprint;
    if m.status = 'firing' then
      update alert a set occurrences = a.occurrences + m.times, last_seen = p_now,
        starts_at = case when m.starts_at < m.since and (
          select true from alert other
          where other.workspace = a.workspace and other.intake = a.intake and other.fingerprint = a.fingerprint
            and other.starts_at = m.starts_at limit 1) is null then m.starts_at else a.starts_at end
      where a.alert_id = m.alert_id;
      o_touched := o_touched || m.episode_id;
    else
      update alert a set status = 'firing', stale = false, ends_at = null, occurrences = a.occurrences + m.times,
        last_seen = p_now, body = m.body, labels = labels_of(m.body),
        changed_version = coalesce((select e.version + 1 from episode e where e.episode_id = m.episode_id), 0)
      where a.alert_id = m.alert_id;
      o_changed := o_changed || m.episode_id;
    end if;
  end loop;
  o_touched := array(select distinct id from unnest(o_touched) id where id is not null);
  o_changed := array(select distinct id from unnest(o_changed) id where id is not null);
end $$;

create function admission_times(p_rules intake_rules, p_now timestamptz, p_count int) returns timestamptz[]
language plpgsql as $$
-- When the next `p_count` investigations of the intake may start, at most max_new_per_hour in any hour: each
-- an hour after the one that came max_new_per_hour before it, or now. Reads at most that many rows.
declare
  v_taken timestamptz[];
  v_times timestamptz[] := '{}';
begin
  v_taken := array(
    select admitted_at from (
      select admitted_at from investigation
      where workspace = p_rules.workspace and intake = p_rules.intake and intake <> ''
        and admitted_at > p_now - interval '1 hour'
        and not (status = 'cancelled' and started_at is null)
      order by admitted_at desc limit p_rules.max_new_per_hour) latest
    order by admitted_at);
  for i in 1 .. p_count loop
    v_times := v_times || case when cardinality(v_taken) < p_rules.max_new_per_hour then p_now
      else greatest(p_now, v_taken[cardinality(v_taken) - p_rules.max_new_per_hour + 1] + interval '1 hour') end;
    v_taken := v_taken || v_times[i];
  end loop;
  return v_times;
end $$;

create function daily_ceiling(p_rules intake_rules, p_now timestamptz) returns timestamptz
language sql stable as $$
-- The next midnight UTC when today's dollars are spent, else null. Reads without a lock.
  select (date_trunc('day', p_now at time zone 'UTC') + interval '1 day') at time zone 'UTC'
  where exists (
    select 1 from spend_day
    where day = (p_now at time zone 'UTC')::date
      and (workspace = p_rules.workspace and usd_micros >= p_rules.workspace_usd_micros
        or workspace = '' and usd_micros >= p_rules.installation_usd_micros))
$$;

create function plan_openings(p_rules intake_rules, p_members posted[], p_now timestamptz) returns opening[]
language plpgsql as $$
-- Decide for each group of these members (they fire, and no row says so) whether its next episode begins now:
-- when none lives; or when the investigation of the living one ended a cooldown ago and a member brings a new
-- alertname or a higher severity than the episode had.
declare
  v_group record;
  v_first posted;
  v_worse posted;
  v_openings opening[] := '{}';
  v_times timestamptz[];
  v_midnight timestamptz := daily_ceiling(p_rules, p_now);
begin
  for v_group in
    select m.group_key, g.episode_id, e.lives, i.runs, coalesce(i.ended_at, e.opened_at) as ended_at,
      max(m.severity_rank) as severity_rank,
      (array_agg(m order by m.n))[1] as first,
      (array_agg(m order by m.n) filter (where m.severity_rank > e.severity_rank or k.knows is null))[1] as worse
    from unnest(p_members) m cross join lateral (
      select ag.episode_id from alert_group ag
      where ag.workspace = p_rules.workspace and ag.group_key = m.group_key limit 1) g left join lateral (
      select x.ended_at is null as lives, x.severity_rank, x.opened_at
      from episode x where x.episode_id = g.episode_id limit 1) e on true left join lateral (
      select y.status in ('deferred', 'queued', 'running', 'waiting') as runs, y.ended_at
      from investigation y where y.episode_id = g.episode_id and y.parent_id is null
      order by y.created_at limit 1) i on true left join lateral (
      select true as knows from alert a where a.episode_id = g.episode_id and a.name = m.name limit 1) k on true
    group by m.group_key, g.episode_id, e.lives, i.runs, i.ended_at, e.opened_at
    order by m.group_key
  loop
    v_first := v_group.first;
    v_worse := v_group.worse;
    if v_group.episode_id is null or not v_group.lives then
      v_openings := v_openings || row(v_group.group_key, new_id(), v_group.episode_id, false, new_id(), v_first.n,
        v_first.name, v_first.body, v_group.severity_rank, null, '')::opening;
    elsif v_group.runs is not true and v_worse.n is not null and v_group.ended_at + p_rules.cooldown <= p_now then
      v_openings := v_openings || row(v_group.group_key, new_id(), v_group.episode_id, true, new_id(), v_worse.n,
        v_worse.name, v_worse.body, greatest(v_group.severity_rank, (select max(a.severity_rank) from alert a
          where a.episode_id = v_group.episode_id and a.status = 'firing')), null, '')::opening;
    end if;
  end loop;
  v_times := admission_times(p_rules, p_now, cardinality(v_openings));
  for i in 1 .. cardinality(v_openings) loop
    if v_midnight is not null or v_times[i] > p_now then
      v_openings[i].not_before := greatest(v_midnight, v_times[i]);
      v_openings[i].defer_reason := case when v_midnight is null or v_times[i] > v_midnight then 'max_new_per_hour' else 'daily_usd' end;
    end if;
  end loop;
  return v_openings;
end $$;

create function open_episodes(
  p_rules intake_rules, p_openings opening[], p_receipt_id text, p_sender jsonb, p_now timestamptz
) returns void language plpgsql as $$
-- Begin these episodes, each with its investigation and the `received` revision for every destination.
declare
  o record;
  v_targets text[];
begin
  insert into episode (episode_id, workspace, group_key, intake, source, opened_at, severity_rank,
      previous_episode_id, quiet_for, stale_after, next_stale_at, sender)
    select u.episode_id, p_rules.workspace, u.group_key, p_rules.intake, p_rules.source, p_now, u.severity_rank,
      u.previous_episode_id, p_rules.quiet_for, p_rules.stale_after, p_now + p_rules.stale_after, p_sender
    from unnest(p_openings) u;
  for o in select * from unnest(p_openings) loop
    update alert_group set episode_id = o.episode_id
      where workspace = p_rules.workspace and group_key = o.group_key;
    if o.carries_over then
      update episode set ended_at = p_now where episode_id = o.previous_episode_id;
      update alert set episode_id = o.episode_id, joined_version = 1, changed_version = 1
        where episode_id = o.previous_episode_id and status = 'firing';
    end if;
  end loop;
  insert into investigation (investigation_id, workspace, episode_id, session_id, workflow, status, severity_rank,
      not_before, defer_reason, origin, title, service, intake, receipt_id, counted_as, admitted_at, created_at, rung_at)
    select u.investigation_id, p_rules.workspace, u.episode_id, 'intake:' || p_rules.intake, p_rules.workflow,
      case when u.not_before is null then 'queued' else 'deferred' end, u.severity_rank, u.not_before, u.defer_reason,
      jsonb_build_object('intake', p_rules.intake, 'source', p_rules.source),
      case when length(u.name) > 200 then left(u.name, 199) || '…' else u.name end,
      coalesce(labels_of(u.body) ->> 'service', ''), p_rules.intake, p_receipt_id,
      case when u.not_before is null then 'opened' else 'deferred' end, coalesce(u.not_before, p_now), p_now,
      case when u.not_before is null then p_now end
    from unnest(p_openings) u;
  with planned as materialized (
    select new_id() as target_id, u.investigation_id, u.defer_reason, d.destination
    from unnest(p_openings) u cross join unnest(p_rules.destinations) d (destination)
  ), made as (
    insert into delivery_target (target_id, investigation_id, workspace, destination, next_revision, rung_at)
      select target_id, investigation_id, p_rules.workspace, destination, 2, p_now from planned
  ), received as (
    insert into delivery (target_id, revision, kind, note, state, planned_at)
      select target_id, 1, 'received', defer_reason, 'planned', p_now from planned
  )
  select array_agg(target_id) into v_targets from planned;
  perform ring(u.investigation_id) from unnest(p_openings) u where u.not_before is null;
  perform ring_target(id) from unnest(v_targets) id;
end $$;

create function take_new(
  p_rules intake_rules, p_members posted[], p_receipt_id text, p_sender jsonb, p_now timestamptz,
  out o_words jsonb, out o_begun text[], out o_joined jsonb
) language plpgsql as $$
-- Give every new firing member its row and its word (by place in the post): opened or deferred for the first
-- of an episode that begins here, joined, or linked when the episode's investigation has ended. `o_joined`
-- are the episodes that lived before and grew, each with the highest severity that came.
declare
  v_openings opening[] := plan_openings(p_rules, p_members, p_now);
  v_openers jsonb := '{}';
begin
  if cardinality(v_openings) > 0 then
    perform open_episodes(p_rules, v_openings, p_receipt_id, p_sender, p_now);
    v_openers := (
      select jsonb_object_agg(o.opener, case when o.not_before is null then 'opened' else 'deferred' end)
      from unnest(v_openings) o);
  end if;
  o_begun := array(select o.episode_id from unnest(v_openings) o);
  insert into alert (alert_id, workspace, intake, fingerprint, starts_at, episode_id, name, status, severity_rank,
      body, labels, occurrences, joined_version, changed_version, first_seen, last_seen)
    select new_id(), p_rules.workspace, p_rules.intake, m.fingerprint, coalesce(m.starts_at, p_now), e.episode_id,
      m.name, 'firing', m.severity_rank, m.body, labels_of(m.body), m.times, e.version, e.version, p_now, p_now
    from unnest(p_members) m cross join lateral (
      select ag.episode_id from alert_group ag
      where ag.workspace = p_rules.workspace and ag.group_key = m.group_key limit 1) g cross join lateral (
      select x.episode_id, x.version + case when x.opened_at = p_now then 0 else 1 end as version
      from episode x where x.episode_id = g.episode_id limit 1) e
    order by m.n
    on conflict (workspace, intake, fingerprint, starts_at) do update set -- resolved, of an episode that has ended
      episode_id = excluded.episode_id, name = excluded.name, status = 'firing', stale = false, ends_at = null,
      severity_rank = excluded.severity_rank, body = excluded.body, labels = excluded.labels,
      occurrences = alert.occurrences + excluded.occurrences, joined_version = excluded.joined_version,
      changed_version = excluded.changed_version, last_seen = excluded.last_seen;
  select jsonb_object_agg(m.n, coalesce(v_openers ->> m.n::text, case when e.is_new or e.runs then 'joined' else 'linked' end)),
      coalesce(jsonb_object_agg(e.episode_id, m.most) filter (where not e.is_new), '{}')
    into o_words, o_joined
    from (select *, max(severity_rank) over (partition by group_key) as most from unnest(p_members)) m cross join lateral (
      select ag.episode_id from alert_group ag
      where ag.workspace = p_rules.workspace and ag.group_key = m.group_key limit 1) g cross join lateral (
      select x.episode_id, x.opened_at = p_now as is_new, (
        select i.status in ('deferred', 'queued', 'running', 'waiting')
        from investigation i where i.episode_id = x.episode_id and i.parent_id is null limit 1) as runs
      from episode x where x.episode_id = g.episode_id limit 1) e;
end $$;

create function grow_episodes(p_joined jsonb, p_now timestamptz) returns void language plpgsql as $$
-- Say that members joined living episodes: severity moves up, for a queued investigation too (so that a
-- critical member does not wait as a warning), and `members` is planned.
declare
  v_joined record;
  v_investigation record;
begin
  for v_joined in select key as episode_id, value::int as severity_rank from jsonb_each_text(p_joined) order by key loop
    update episode set severity_rank = v_joined.severity_rank
      where episode_id = v_joined.episode_id and severity_rank < v_joined.severity_rank;
    if found then
      for v_investigation in
        select investigation_id, status from investigation
        where episode_id = v_joined.episode_id for no key update skip locked -- who holds it is claiming it
      loop
        update investigation set severity_rank = greatest(severity_rank, v_joined.severity_rank)
          where investigation_id = v_investigation.investigation_id
            and v_investigation.status in ('deferred', 'queued');
      end loop;
    end if;
    perform plan_for_episode(v_joined.episode_id, 'members', p_now);
  end loop;
end $$;

create function take_heartbeats(p_rules intake_rules, p_members posted[], p_now timestamptz) returns void
language sql as $$
-- Record heartbeats that were not firing here: they belong to no episode and are never investigated.
  insert into alert (alert_id, workspace, intake, fingerprint, starts_at, name, status, severity_rank, body, labels,
      occurrences, first_seen, last_seen, heartbeat)
    select new_id(), p_rules.workspace, p_rules.intake, m.fingerprint, coalesce(m.starts_at, p_now), m.name, 'firing',
      m.severity_rank, m.body, labels_of(m.body), m.times, p_now, p_now, true
    from unnest(p_members) m order by m.n
    on conflict (workspace, intake, fingerprint, starts_at) do update set
      status = 'firing', heartbeat = true, episode_id = null, ends_at = null,
      occurrences = alert.occurrences + excluded.occurrences, last_seen = excluded.last_seen
$$;

create function accepted(p_receipt_id text, p_outcomes text[]) returns jsonb language sql stable as $$
-- The answer of `accept`, read from the receipt. `p_outcomes` null: this is not the try that decided them.
  select jsonb_build_object('receipt_id', r.receipt_id, 'state', r.state, 'counts', r.counts,
    'outcomes', to_jsonb(p_outcomes), 'investigations', coalesce((
      select jsonb_agg(jsonb_build_object('investigation_id', i.investigation_id, 'episode_id', i.episode_id,
        'status', i.status, 'not_before', i.not_before, 'defer_reason', i.defer_reason) order by i.investigation_id)
      from investigation i where i.investigation_id = any (r.investigation_ids)), '[]'))
  from intake_receipt r where r.receipt_id = p_receipt_id
$$;

create function accept_again(
  p_receipt_id text, p_receipt_key text, p_body_digest text, p_remote text, p_rules intake_rules, p_count int
) returns jsonb language plpgsql as $$
-- Answer a second try of one receipt, or record that a sender's delivery id came again: its members count as
-- duplicate and nothing else moves.
begin
  if not exists (select 1 from intake_receipt where receipt_id = p_receipt_id) then
    insert into intake_receipt (receipt_id, workspace, intake, receipt_key, keyed_by, body_digest, received_at, remote,
        state, members, counts, investigation_ids)
      select p_receipt_id, p_rules.workspace, p_rules.intake, p_receipt_key, 'delivery', p_body_digest,
        clock_timestamp(), p_remote, 'repeated', p_count, jsonb_build_object('duplicate', p_count), first.investigation_ids
      from intake_receipt first
      where first.workspace = p_rules.workspace and first.intake = p_rules.intake
        and first.receipt_key = p_receipt_key and first.keyed_by = 'delivery' and first.state <> 'repeated';
  end if;
  return accepted(p_receipt_id, null);
end $$;

create function accept(
  p_receipt_id text, p_receipt_key text, p_keyed_by text, p_body bytea, p_body_digest text, p_remote text,
  p_quarantined int, p_reason text, p_warnings text[], p_sender jsonb, p_rules intake_rules, p_members posted[]
) returns jsonb language plpgsql set search_path = inquest, pg_temp
-- The planner does not know how long the arrays are, nor that a table grew a hundredfold since it last looked.
-- So each access is one look-up by index for each member: a subquery with a limit, which no plan can turn
-- round or hash a whole table for, or a loop. Then one plan is good for all, and is made once.
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
-- Take one post in. `p_quarantined` counts its members that are not understood or over the cap. Under a
-- receipt id that is there already nothing happens, and the first answer is given again. Gives {state,
-- counts, investigations [{investigation_id, episode_id, status, not_before, defer_reason}], outcomes [the
-- word of each member, in order; null when an earlier try decided them]}.
declare
  v_count int := greatest(cardinality(p_members) + p_quarantined, 1);
  v_words text[];
begin
  insert into receipt_body (workspace, digest, body) values (p_rules.workspace, p_body_digest, p_body)
    on conflict do nothing;
  insert into intake_receipt (receipt_id, workspace, intake, receipt_key, keyed_by, body_digest, received_at, remote,
      state, reason, members, counts, warnings)
    values (p_receipt_id, p_rules.workspace, p_rules.intake, p_receipt_key, p_keyed_by, p_body_digest,
      clock_timestamp(), p_remote, case when cardinality(p_members) = 0 then 'quarantined' else 'accepted' end,
      p_reason, v_count, jsonb_build_object('quarantined', v_count), p_warnings)
    on conflict do nothing;
  if not found then
    return accept_again(p_receipt_id, p_receipt_key, p_body_digest, p_remote, p_rules, v_count);
  end if;
  if cardinality(p_members) > 0 then
    v_words := take_members(p_receipt_id, p_sender, p_rules, p_members);
    update intake_receipt set counts = (
        select jsonb_object_agg(word, times) from (
          select word, count(*) as times
          from unnest(v_words || array_fill('quarantined'::text, array[p_quarantined])) word group by word) counted)
      where receipt_id = p_receipt_id;
  end if;
  return accepted(p_receipt_id, coalesce(v_words, '{}'));
end $$;

create function take_members(p_receipt_id text, p_sender jsonb, p_rules intake_rules, p_members posted[])
returns text[] language plpgsql as $$
-- Take the members of a post in under the locks of their groups, and give the word of each, in order.
declare
  v_live text[] := lock_groups(p_rules, p_members);
  v_now timestamptz := clock_timestamp();
  v_firing posted[];
  v_resolved posted[];
  v_new posted[];
  v_known text[];
  v_repeated text[];
  v_again text[];
  v_resolving text[] := '{}';
  v_words jsonb := '{}';
  v_begun text[] := '{}';
  v_joined jsonb := '{}';
  v_changed text[];
begin
  perform settle_episodes(v_live, v_now);
  -- A post is a snapshot: a fingerprint fires when any of its members does, since the earliest of them.
  v_firing := array(
    select row(min(m.n), m.fingerprint, min(m.starts_at), null, true, (array_agg(m.name order by m.n))[1],
      (array_agg(m.severity_rank order by m.n))[1], (array_agg(m.group_key order by m.n))[1],
      (array_agg(m.heartbeat order by m.n))[1], (array_agg(m.body order by m.n))[1], count(*))::posted
    from unnest(p_members) m where m.firing group by m.fingerprint order by m.fingerprint);
  v_resolved := array(
    select distinct on (m.fingerprint) m from unnest(p_members) m
    where not m.firing and m.fingerprint not in (select f.fingerprint from unnest(v_firing) f)
    order by m.fingerprint, m.ends_at desc nulls first);
  if cardinality(v_resolved) > 0 then
    v_resolving := take_resolved(p_rules, v_resolved, v_now);
  end if;
  select o_fingerprints, o_touched, o_changed into v_known, v_repeated, v_again
    from take_repeats(p_rules, v_firing, v_now);
  if cardinality(v_known) < cardinality(v_firing) then
    v_new := array(select f from unnest(v_firing) f where f.fingerprint not in (select unnest(v_known)) order by f.n);
    perform take_heartbeats(p_rules, array(select f from unnest(v_new) f where f.heartbeat), v_now);
    v_new := array(select f from unnest(v_new) f where not f.heartbeat);
    if cardinality(v_new) > 0 then
      select o_words, o_begun, o_joined into v_words, v_begun, v_joined
        from take_new(p_rules, v_new, p_receipt_id, p_sender, v_now);
      perform grow_episodes(v_joined, v_now);
    end if;
  end if;
  v_changed := v_resolving || v_again || array(select jsonb_object_keys(v_joined));
  if cardinality(v_changed) > 0 then
    update episode set version = version + 1 where episode_id = any (v_changed);
    perform settle_episodes(v_live, v_now);
  end if;
  update intake_receipt set investigation_ids = array(
      select i.investigation_id from (select distinct id from unnest(v_changed || v_repeated || v_begun) id) e
      cross join lateral (
        select x.investigation_id, x.parent_id from investigation x where x.episode_id = e.id offset 0) i
      where i.parent_id is null order by i.investigation_id)
    where receipt_id = p_receipt_id;
  return array(
    select case when m.heartbeat then 'heartbeat' when not m.firing then 'resolved_only'
      else coalesce(v_words ->> m.n::text, 'duplicate') end
    from unnest(p_members) m order by m.n);
end $$;

-- ---- the accounting equation ---------------------------------------------------------------------------

create function count_as_noise(p_investigation_id text) returns void language plpgsql as $$
-- Move the opener of this investigation from opened (or deferred) to noise; for the transaction that ends it
-- so. A second call does nothing.
declare
  v_word text;
  v_receipt_id text;
begin
  update investigation i set counted_as = 'noise' from (
      select investigation_id, counted_as from investigation where investigation_id = p_investigation_id for update) was
    where i.investigation_id = was.investigation_id and was.counted_as in ('opened', 'deferred')
    returning was.counted_as, i.receipt_id into v_word, v_receipt_id;
  if found then
    update intake_receipt set counts = counts || jsonb_build_object(
        v_word, (counts ->> v_word)::int - 1, 'noise', coalesce((counts ->> 'noise')::int, 0) + 1)
      where receipt_id = v_receipt_id;
  end if;
end $$;

create function accounting(p_workspace text) returns table (
  accepted bigint, opened bigint, joined bigint, deferred bigint, duplicate bigint, linked bigint,
  resolved_only bigint, heartbeat bigint, noise bigint, follow_up bigint, quarantined bigint, balanced boolean
) language sql stable as $$
-- accepted = opened + joined + deferred + duplicate + linked + resolved_only + heartbeat + noise + follow_up +
-- quarantined. The left side is what the posts brought, the right side what was decided; `balanced` also wants
-- every investigation that an intake opened to be counted once, as opened, deferred or noise.
  with words as (
    select w.word, sum(w.times::bigint) as times
    from intake_receipt r cross join lateral jsonb_each_text(r.counts) w (word, times)
    where r.workspace = p_workspace group by w.word
  ), brought as (
    select coalesce(sum(members), 0) as members from intake_receipt where workspace = p_workspace
  ), begun as (
    select count(*) as investigations from investigation where workspace = p_workspace and counted_as <> ''
  ), sums as (
    select brought.members,
      coalesce(max(times) filter (where word = 'opened'), 0) as opened,
      coalesce(max(times) filter (where word = 'joined'), 0) as joined,
      coalesce(max(times) filter (where word = 'deferred'), 0) as deferred,
      coalesce(max(times) filter (where word = 'duplicate'), 0) as duplicate,
      coalesce(max(times) filter (where word = 'linked'), 0) as linked,
      coalesce(max(times) filter (where word = 'resolved_only'), 0) as resolved_only,
      coalesce(max(times) filter (where word = 'heartbeat'), 0) as heartbeat,
      coalesce(max(times) filter (where word = 'noise'), 0) as noise,
      coalesce(max(times) filter (where word = 'follow_up'), 0) as follow_up,
      coalesce(max(times) filter (where word = 'quarantined'), 0) as quarantined,
      coalesce(sum(times), 0) as decided, begun.investigations
    from brought cross join begun left join words on true group by brought.members, begun.investigations
  )
  select members, opened, joined, deferred, duplicate, linked, resolved_only, heartbeat, noise, follow_up, quarantined,
    members = decided and decided = opened + joined + deferred + duplicate + linked + resolved_only + heartbeat + noise
        + follow_up + quarantined
      and opened + deferred <= investigations and investigations <= opened + deferred + noise
  from sums
$$;
