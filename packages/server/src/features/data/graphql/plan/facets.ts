import { isObjectType } from 'graphql'
import type { Relation } from '../../../../database/catalog/model.ts'
import type { FacetMember, FacetsPlan, FacetValueMember, SelectedFacets } from '../../collections/index.ts'
import { collectFields, type SelectedField, selectionsOf } from './fields.ts'
import { constant, objectTypeOf } from './selection.ts'
import type { PlanTools } from './tools.ts'

/** Plans the members of each facet that a field selects. */
export function planFacetMembers(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
  { facets }: FacetsPlan,
): Pick<SelectedFacets, 'columns' | 'members'> {
  const own = tools.names.get(relation)
  const names = new Map([...(own?.columns ?? [])].map(([name, column]) => [column, name]))
  const record = tools.fields.schema.getType(own?.type ?? '')
  const fields = isObjectType(record) ? record.getFields() : {}
  const type = objectTypeOf(field)
  const selected = collectFields(tools.fields, type, selectionsOf(field))
  return {
    columns: facets.map(({ column }) => {
      const meaning = fields[names.get(column) ?? '']?.extensions.meaning
      if (meaning?.kind !== 'column') throw new TypeError('the record has no field of the column')
      return meaning
    }),
    members: facets.map(({ column }) =>
      selected.map((each) => planMember(tools, each, type.name, names.get(column) ?? column.name)),
    ),
  }
}

function planMember(tools: PlanTools, field: SelectedField, typeName: string, column: string): FacetMember {
  const { key, meaning } = field
  switch (meaning?.kind) {
    case 'facetColumn':
      return constant(field, column)
    case 'facetValues': {
      const type = objectTypeOf(field)
      const members = collectFields(tools.fields, type, selectionsOf(field))
      return { key, kind: 'values', members: members.map((each) => planValueMember(each, type.name)) }
    }
    case 'facetExhaustive':
      return { key, kind: 'exhaustive' }
    case 'facetMin':
      return { key, kind: 'figure', function: 'min' }
    case 'facetMax':
      return { key, kind: 'figure', function: 'max' }
    default:
      return constant(field, typeName)
  }
}

function planValueMember(field: SelectedField, typeName: string): FacetValueMember {
  const { key, meaning } = field
  if (meaning?.kind === 'facetValue') return { key, kind: 'value' }
  return meaning?.kind === 'facetCount' ? { key, kind: 'count' } : constant(field, typeName)
}
