-- Taking a post in: design 6, the whole of it in one function and one round trip. `accept` locks the rows of
-- its groups, in key order, and waits for nothing else but the targets whose revisions it plans. What it does
-- with members is in 0009, with episodes that begin in 0010, and what time does to them in 0011.

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

create function store_body(p_workspace text, p_digest text, p_body bytea) returns void language plpgsql as $$
-- Stores the bytes of a post, or holds those that are there until the end of the transaction: whoever removes those of
-- another post waits for it, and finds this post's row (`remove_bodies`).
begin
  loop
    insert into receipt_body (workspace, digest, body) values (p_workspace, p_digest, p_body) on conflict do nothing;
    exit when found;
    perform from receipt_body b where b.workspace = p_workspace and b.digest = p_digest for key share;
    exit when found;
  end loop;
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
  perform store_body(p_rules.workspace, p_body_digest, p_body);
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
  v_risen posted[];
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
  select o_fingerprints, o_touched, o_changed, o_risen into v_known, v_repeated, v_again, v_risen
    from take_repeats(p_rules, v_firing, v_now);
  if cardinality(v_known) < cardinality(v_firing) or cardinality(v_risen) > 0 then
    v_new := array(select f from unnest(v_firing) f where f.fingerprint not in (select unnest(v_known)) order by f.n);
    perform take_heartbeats(p_rules, array(select f from unnest(v_new) f where f.heartbeat), v_now);
    v_new := array(select f from unnest(v_new) f where not f.heartbeat);
    if cardinality(v_new) > 0 or cardinality(v_risen) > 0 then
      select o_words, o_begun, o_joined into v_words, v_begun, v_joined
        from take_new(p_rules, v_new, in_their_groups(p_rules, v_risen), p_receipt_id, p_sender, v_now);
      perform grow_episodes(p_rules, v_joined, v_now);
      perform grow_episodes(p_rules, less_severe_episodes(p_rules, v_risen), v_now);
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
