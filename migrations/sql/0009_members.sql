-- What `accept` does with the members of a post, under the locks of their groups: one look-up by index for
-- each, because the planner knows neither the length of the arrays nor how large the tables have become.

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
          or nullif(convert_from(a.body, 'UTF8'), '')::jsonb ->> 'starts_at' is null) -- that start is our clock's
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
  out o_changed text[], out o_risen posted[]
) language plpgsql as $$
-- Count the members whose row fires, or did with the same starts_at in an episode that lives: the rows'
-- fingerprints, their episodes, those episodes in which something fires again, and the members that are more severe
-- than their row was: it takes their severity and what they say. A row never becomes less severe.
declare
  m record;
begin
  o_risen := '{}';
  o_fingerprints := '{}';
  o_touched := '{}';
  o_changed := '{}';
  for m in
    select p.*, p as posted, k.alert_id, k.status, k.since, k.episode_id, k.rank
    from unnest(p_members) p cross join lateral (
      select a.alert_id, a.status, a.starts_at as since, a.episode_id, a.severity_rank as rank from alert a
      where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = p.fingerprint
        and a.fires
      union all
      select a.alert_id, a.status, a.starts_at, a.episode_id, a.severity_rank from alert a
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
            and other.starts_at = m.starts_at limit 1) is null then m.starts_at else a.starts_at end,
        -- What a forgotten alert says now is new; of another, these stay what they are.
        name = case when octet_length(a.body) = 0 then m.name else a.name end,
        labels = case when octet_length(a.body) = 0 then labels_of(m.body) else a.labels end,
        body = case when octet_length(a.body) = 0 then m.body else a.body end
      where a.alert_id = m.alert_id;
      o_touched := o_touched || m.episode_id;
    else
      update alert a set status = 'firing', stale = false, ends_at = null, occurrences = a.occurrences + m.times,
        last_seen = p_now, name = m.name, body = m.body, labels = labels_of(m.body),
        changed_version = coalesce((select e.version + 1 from episode e where e.episode_id = m.episode_id), 0)
      where a.alert_id = m.alert_id;
      o_changed := o_changed || m.episode_id;
    end if;
    if m.severity_rank > m.rank then
      update alert a set severity_rank = m.severity_rank, body = m.body, labels = labels_of(m.body)
      where a.alert_id = m.alert_id;
      o_risen := o_risen || m.posted;
    end if;
  end loop;
  o_touched := array(select distinct id from unnest(o_touched) id where id is not null);
  o_changed := array(select distinct id from unnest(o_changed) id where id is not null);
end $$;

create function take_new(
  p_rules intake_rules, p_members posted[], p_risen posted[], p_receipt_id text, p_sender jsonb, p_now timestamptz,
  out o_words jsonb, out o_begun text[], out o_joined jsonb
) language plpgsql as $$
-- `p_risen` have a row that fires already, and only begin an episode where their severity does.
-- Give every new firing member its row and its word (by place in the post): opened or deferred for the first
-- of an episode that begins here, joined, or linked when the episode's investigation has ended. `o_joined`
-- are the episodes that lived before and grew, each with the highest severity that came.
declare
  v_openings opening[] := plan_openings(p_rules, p_members || p_risen, p_now);
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
  o_words := coalesce(o_words, '{}') || v_openers;
end $$;

create function in_their_groups(p_rules intake_rules, p_risen posted[]) returns posted[] language sql stable as $$
-- Those of `p_risen` whose row fires in the current episode of the group that the post names: not after a change of
-- group_by.
  select coalesce(array_agg(m order by m.n), '{}') from unnest(p_risen) m cross join lateral (
    select a.episode_id from alert a
    where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = m.fingerprint
      and a.fires limit 1) held cross join lateral (
    select ag.episode_id from alert_group ag
    where ag.workspace = p_rules.workspace and ag.group_key = m.group_key limit 1) g
  where g.episode_id = held.episode_id
$$;

create function less_severe_episodes(p_rules intake_rules, p_risen posted[]) returns jsonb language sql stable as $$
-- The episodes that are less severe than these members of theirs, each with the severity it has to take.
  select coalesce(jsonb_object_agg(r.episode_id, r.most), '{}') from (
    select e.episode_id, max(m.severity_rank) as most from unnest(p_risen) m cross join lateral (
      select a.episode_id from alert a
      where a.workspace = p_rules.workspace and a.intake = p_rules.intake and a.fingerprint = m.fingerprint
        and a.fires limit 1) held cross join lateral (
      select x.episode_id, x.severity_rank from episode x where x.episode_id = held.episode_id limit 1) e
    where e.severity_rank < m.severity_rank group by e.episode_id) r
$$;

create function grow_episodes(p_rules intake_rules, p_joined jsonb, p_now timestamptz) returns void
language plpgsql as $$
-- Say that members joined living episodes, or became more severe: severity moves up, for a queued investigation too (so that a
-- critical member does not wait as a warning), and `members` is planned.
declare
  v_joined record;
  v_investigation investigation;
begin
  for v_joined in select key as episode_id, value::int as severity_rank from jsonb_each_text(p_joined) order by key loop
    update episode set severity_rank = v_joined.severity_rank
      where episode_id = v_joined.episode_id and severity_rank < v_joined.severity_rank;
    if found then
      for v_investigation in
        select * from investigation
        where episode_id = v_joined.episode_id for no key update skip locked -- who holds it is claiming it
      loop
        perform raise_severity(p_rules, v_investigation, v_joined.severity_rank, p_now);
      end loop;
    end if;
    perform plan_for_episode(v_joined.episode_id, 'members', p_now);
  end loop;
end $$;

create function raise_severity(p_rules intake_rules, p_of investigation, p_rank int, p_now timestamptz) returns void
language plpgsql as $$
-- Let an investigation that has not begun wait by a higher severity. One that max_new_per_hour deferred takes the
-- slot that this severity has, if it comes sooner; the sweep queues it then.
declare
  v_rules intake_rules := p_rules;
  v_slot timestamptz;
  v_midnight timestamptz;
begin
  if p_of.status not in ('deferred', 'queued') or p_of.severity_rank >= p_rank then
    return;
  end if;
  if p_of.status = 'deferred' and p_of.defer_reason = 'max_new_per_hour' and p_of.intake <> '' then
    v_rules.intake := p_of.intake; -- a member may come by another intake than the first did
    v_slot := (admission_times(v_rules, p_now, array[p_rank]))[1]; -- before it counts among those as severe itself
    v_midnight := daily_ceiling(p_rules);
    if greatest(v_slot, v_midnight) < p_of.not_before then
      update investigation set not_before = greatest(v_slot, v_midnight), admitted_at = greatest(v_slot, v_midnight),
          defer_reason = case when v_midnight > v_slot then 'daily_usd' else defer_reason end
        where investigation_id = p_of.investigation_id;
    end if;
  end if;
  update investigation set severity_rank = p_rank where investigation_id = p_of.investigation_id;
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
