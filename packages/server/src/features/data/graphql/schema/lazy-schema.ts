import {
  type GraphQLArgument,
  type GraphQLInputField,
  GraphQLInputObjectType,
  type GraphQLNamedType,
  GraphQLObjectType,
  GraphQLSchema,
  type GraphQLSchemaConfig,
  type GraphQLType,
  getNamedType,
  isInputObjectType,
  isObjectType,
} from 'graphql'

/**
 * Schema whose types get their fields when a document names them. A schema of 2,000 tables has a million fields and
 * arguments, which would block the process for seconds.
 */

/** True while a schema is created: `graphql` then reads the fields of every type that it finds. */
let isCreated = true

/** Object type without fields for a schema that is being created. */
export class LazyObjectType extends GraphQLObjectType {
  override getFields(): ReturnType<GraphQLObjectType['getFields']> {
    return isCreated ? super.getFields() : {}
  }
}

/** Input type without fields for a schema that is being created. */
export class LazyInputObjectType extends GraphQLInputObjectType {
  override getFields(): ReturnType<GraphQLInputObjectType['getFields']> {
    return isCreated ? super.getFields() : {}
  }
}

export class LazySchema extends GraphQLSchema {
  readonly #find: (name: string) => Iterable<GraphQLNamedType>

  /** @param find returns types that may lead to a type of a name */
  constructor(config: Readonly<GraphQLSchemaConfig>, find: (name: string) => Iterable<GraphQLNamedType>) {
    isCreated = false
    try {
      super({ ...config, assumeValid: true })
    } finally {
      isCreated = true
    }
    this.#find = find
  }

  override getType(name: string): GraphQLNamedType | undefined {
    const known = super.getType(name)
    if (known !== undefined || name.startsWith('__')) return known
    const types = this.getTypeMap()
    for (const type of this.#find(name)) {
      types[type.name] = type
      for (const each of referencesOf(type)) types[each.name] = each
    }
    return super.getType(name)
  }
}

/** Returns the named types in the fields and arguments of a type. */
export function referencesOf(type: GraphQLNamedType): readonly GraphQLNamedType[] {
  if (isInputObjectType(type)) return Object.values(type.getFields()).map(namedTypeOf)
  if (!isObjectType(type)) return []
  return Object.values(type.getFields()).flatMap((field) => [
    namedTypeOf(field),
    ...field.args.map(namedTypeOf),
  ])
}

function namedTypeOf({
  type,
}: { readonly type: GraphQLType } | GraphQLArgument | GraphQLInputField): GraphQLNamedType {
  return getNamedType(type)
}
