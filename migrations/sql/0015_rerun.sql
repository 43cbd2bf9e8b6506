-- Re-run: a new investigation of the same episode, beside the one it repeats. `store/actions.py` calls this.

alter table investigation
  add column rerun_key text not null default ''; -- digest of what the client calls this re-run: asked again, it is one
create unique index investigation_rerun on investigation (parent_id, rerun_key) where rerun_key <> '';

-- Opens `p_new`, unless there is one of this parent under `p_key` ('' is no key). It goes where its parent's revisions
-- went, into the same threads. It takes no slot of max_new_per_hour; a day whose dollars are spent defers it, and room
-- and halts hold for its claim. One investigation of an episode runs at a time.
create function rerun_investigation(
  p_workspace text, p_parent text, p_new text, p_key text, p_session text, p_workflow text,
  p_workspace_usd_micros bigint, p_installation_usd_micros bigint, out investigation_id text, out opened boolean
)
language plpgsql set search_path = inquest, pg_temp as $$
#variable_conflict use_column
declare
  a investigation;
  other investigation;
  midnight timestamptz;
begin
  perform from alert_group g
  join episode e on e.workspace = g.workspace and e.group_key = g.group_key
  join investigation i on i.episode_id = e.episode_id
  where i.investigation_id = p_parent and i.workspace = p_workspace for no key update of g;
  select * into a from investigation i
  where i.investigation_id = p_parent and i.workspace = p_workspace for update;
  perform check_is_there(a, p_parent);
  opened := false;
  select i.investigation_id into investigation_id from investigation i
  where p_key <> '' and i.parent_id = p_parent and i.rerun_key = p_key;
  if found then
    return;
  end if;
  select * into other from investigation i
  where i.episode_id = a.episode_id and i.status in ('deferred', 'queued', 'running', 'waiting')
  order by (i.investigation_id = p_parent) desc limit 1;
  if other.investigation_id = p_parent then
    raise exception 'it is %: a re-run begins when it has ended', a.status using errcode = 'IQS01';
  elsif found then
    raise exception '% of the same episode is %: a re-run begins when that has ended',
      other.investigation_id, other.status using errcode = 'IQS01';
  end if;
  midnight := coalesce(day_spent(p_workspace, p_workspace_usd_micros), day_spent('', p_installation_usd_micros));
  insert into investigation (investigation_id, workspace, episode_id, session_id, workflow, status, severity_rank,
    not_before, defer_reason, parent_id, origin, title, service, rerun_key, created_at, rung_at)
  values (p_new, p_workspace, a.episode_id, p_session, p_workflow,
    case when midnight is null then 'queued' else 'deferred' end, a.severity_rank, midnight,
    case when midnight is null then '' else 'daily_usd' end, p_parent, a.origin, a.title, a.service, p_key,
    clock_timestamp(), case when midnight is null then clock_timestamp() end);
  insert into delivery_target (target_id, investigation_id, workspace, destination)
  select new_id(), p_new, p_workspace, t.destination from delivery_target t where t.investigation_id = p_parent;
  perform plan_deliveries(p_new, jsonb_build_array(jsonb_build_object(
    'kind', 'received', 'note', case when midnight is null then '' else 'daily_usd' end)));
  if midnight is null then
    perform ring(p_new);
  end if;
  investigation_id := p_new;
  opened := true;
end $$;
