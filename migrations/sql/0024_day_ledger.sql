-- The day's dollars, reserved before a turn is asked and settled after: what a turn may cost at most stands in its effect
-- until the write that adds what it did cost. So many investigations at once cannot pass a day's ceiling together.

alter table effect add column reserved_usd_micros bigint not null default 0 check (reserved_usd_micros >= 0);
create index effect_unsettled on effect (investigation_id) where reserved_usd_micros > 0;

-- What turns under way may still cost in `p_workspace` ('' is the whole installation). What has ended asks nothing more.
create function unsettled_usd_micros(p_workspace text) returns bigint
language sql stable as $$
  select coalesce(sum(e.reserved_usd_micros), 0)::bigint
  from effect e join investigation i using (investigation_id)
  where e.reserved_usd_micros > 0 and i.status in ('queued', 'running', 'waiting') and p_workspace in (i.workspace, '')
$$;

-- Reserves `p_usd_micros` of both days for one effect, or refuses. `p_ceilings`: {workspace, installation}, millionths of
-- a dollar, null: none. The rows of the days are locked, last of all, so that of two who ask the second sees the first.
create function reserve_day(
  p_workspace text, p_investigation text, p_key text, p_usd_micros bigint, p_ceilings jsonb
) returns void
language plpgsql as $$
declare
  d record;
  today date := (clock_timestamp() at time zone 'UTC')::date;
begin
  if p_usd_micros = 0 then
    return;
  end if;
  for d in
    select * from (values
      ('workspace_usd_a_day', p_workspace, (p_ceilings ->> 'workspace')::bigint, 1),
      ('installation_usd_a_day', '', (p_ceilings ->> 'installation')::bigint, 2)
    ) as c (name, workspace, allowed, at)
    where c.allowed is not null order by c.at
  loop
    insert into spend_day (workspace, day) values (d.workspace, today) on conflict do nothing;
    perform from spend_day s where s.workspace = d.workspace and s.day = today for update;
    perform check_ceiling(d.name, (
      select s.usd_micros + unsettled_usd_micros(d.workspace) from spend_day s
      where s.workspace = d.workspace and s.day = today), p_usd_micros, d.allowed);
  end loop;
  update effect e set reserved_usd_micros = p_usd_micros
  where e.investigation_id = p_investigation and e.key = p_key;
end $$;

-- Gives back what the recorded turns of an investigation had reserved, for the write that adds their cost. Gives what they
-- had reserved together: where a cost is not known, that much is taken.
create function settle_day(p_investigation text) returns bigint
language sql as $$
  with settled as (
    update effect e set reserved_usd_micros = 0 from effect was
    where e.investigation_id = p_investigation and e.reserved_usd_micros > 0 and e.state <> 'reserved'
      and was.investigation_id = e.investigation_id and was.key = e.key
    returning was.reserved_usd_micros)
  select coalesce(sum(reserved_usd_micros), 0)::bigint from settled
$$;
