-- PostgreSQL keeps the plan of a prepared statement, and under row-level security it is the plan of the first caller. Each
-- kept plan is therefore made for a class of callers: those of whose rows in a relation PostgreSQL expects about as many, and
-- reads them alike. docs/decisions/0041-plans-by-class-of-caller.md has the reasons.

-- The size of what a relation reads, in powers of four of a page; 0 below 64 pages, where any plan is quick.
create function basalt.size_class(relation oid) returns text language plpgsql stable parallel safe as $$
declare
  pages numeric;
begin
  if exists (select from pg_catalog.pg_class c where c.oid = relation and (c.relkind in ('v', 'p') or c.relhassubclass)) then
    with recursive part (id) as (
      select relation
      union
      select child.id
      from part
      cross join lateral (
        select i.inhrelid as id from pg_catalog.pg_inherits i where i.inhparent = part.id
        union all
        select d.refobjid
        from pg_catalog.pg_rewrite r
        join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = r.oid
          and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        where r.ev_class = part.id
      ) child
    )
    select sum(pg_catalog.pg_relation_size(part.id)) / 8192 into pages
    from part
    join pg_catalog.pg_class c on c.oid = part.id and c.relkind in ('r', 'm');
  else
    pages := pg_catalog.pg_relation_size(relation) / 8192;
  end if;
  return case when pages >= 64 then floor(log(4, pages)) else 0 end;
end
$$;

-- How PostgreSQL reads the relation for the caller: size, expected rows in powers of two from 256 on, and the shape of the plan.
create function basalt.plan_class(relation oid) returns text language plpgsql volatile as $$
declare
  size constant text := basalt.size_class(relation);
  explained jsonb;
  expected numeric;
begin
  execute pg_catalog.format('explain (format json) select from %s', relation::pg_catalog.regclass) into explained;
  expected := (explained #>> '{0,Plan,Plan Rows}')::numeric;
  return size || '.' || case when expected > 256 then floor(log(2, expected / 256)) + 1 else 0 end || '.' || left(
    md5(pg_catalog.regexp_replace(
      explained::text, '"(Startup Cost|Total Cost|Plan Rows|Plan Width)": [0-9.e+]+', '', 'g')), 8);
exception when others then
  -- The policies of the relation fail for the caller, as does then the statement.
  return size || '.0.';
end
$$;

-- Part of a statement whose plan is kept. PostgreSQL evaluates an immutable function of constants when it makes a plan, and
-- never when it runs one: the failure keeps a plan from being made for a caller of another class, and costs nothing later.
create function basalt.planned_for(relation oid, class text) returns bool language plpgsql immutable as $$
declare
  found constant text := basalt.plan_class(relation);
begin
  if found <> class then
    raise exception 'the plan is kept for other callers'
      using errcode = 'BS006', detail = found, table = relation::text;
  end if;
  return true;
end
$$;

-- At the beginning of a transaction whose statements have plans that were made for relations of these sizes.
create function basalt.check_size_classes(relations oid[], classes text[]) returns void language plpgsql stable as $$
declare
  found text;
begin
  for i in 1 .. cardinality(relations) loop
    found := basalt.size_class(relations[i]);
    if found <> classes[i] then
      raise exception 'the plan is kept for another size'
        using errcode = 'BS006', detail = found, table = relations[i]::text;
    end if;
  end loop;
end
$$;

-- They work as their caller, and tell no more than EXPLAIN would.
grant execute on function basalt.size_class(oid), basalt.plan_class(oid), basalt.planned_for(oid, text),
  basalt.check_size_classes(oid[], text[]) to public;
