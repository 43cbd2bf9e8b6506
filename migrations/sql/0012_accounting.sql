-- The accounting equation of design 6, over receipts.

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
