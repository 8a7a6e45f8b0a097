import { GraphiQL, type GraphiQLProps } from 'graphiql'
import { useEffect, useMemo, useRef, useState } from 'react'
import { labelEditors } from './label-editors.ts'
import { readLink, writeLink } from './link.ts'
import { describeFailure, describeSchema, loadingSchema, type SchemaState } from './schema-state.ts'
import { findAuthorization, findCaller, type GraphqlParameters, parseHeaders, send } from './send.ts'
import { storage } from './storage.ts'

type Fetcher = GraphiQLProps['fetcher']

const introspection = 'IntrospectionQuery'
/** Browsers limit the changes of an address, Safari to 100 in 30 s. */
const addressPauseMs = 500

const firstDocument = `# Documents run against this server. Ctrl-Enter or ⌘-Enter runs, Ctrl-Space or Alt-Space completes names.

`

/** Renders GraphiQL and, above it, the caller of its requests and the state of the schema. */
export function GraphiqlPage() {
  const [linked] = useState(() => readLink(location.hash))
  const [authorization, setAuthorization] = useState<string>()
  const [schema, setSchema] = useState(loadingSchema)
  const root = useRef<HTMLDivElement>(null)
  const reads = useRef(0)
  const updateAddress = useAddress()
  useEffect(() => (root.current === null ? undefined : labelEditors(root.current)), [])

  // A new fetcher makes GraphiQL load the schema again, which depends on the caller.
  const fetcher = useMemo(() => {
    const readSchema = async (parameters: GraphqlParameters, headers: Readonly<Record<string, string>>) => {
      reads.current += 1
      const read = reads.current
      // Another token may have been set in the meantime.
      const show = (state: SchemaState) => {
        if (read === reads.current) setSchema(state)
      }
      show(loadingSchema)
      try {
        const caller = await findCaller(authorization)
        const response = await send(parameters, caller, headers)
        show(describeSchema(response, caller))
        return response
      } catch (error) {
        show(describeFailure(error))
        throw error
      }
    }
    const sendAny = async (parameters: GraphqlParameters, headers: Readonly<Record<string, string>>) =>
      parameters.operationName === introspection
        ? await readSchema(parameters, headers)
        : await send(parameters, await findCaller(findAuthorization(headers)), headers)
    // GraphiQL shows any JSON, also an error in the envelope of the REST API.
    return ((parameters, { headers = {} } = {}) => sendAny(parameters, headers)) as Fetcher
  }, [authorization])

  return (
    <div ref={root} className="page">
      <p role="status" className={schema.kind === 'failed' ? 'schema-state failed' : 'schema-state'}>
        {schema.text}
      </p>
      <GraphiQL
        fetcher={fetcher}
        introspectionQueryName={introspection}
        defaultQuery={firstDocument}
        {...linked}
        storage={storage}
        shouldPersistHeaders={false}
        showPersistHeadersSettings={false}
        onTabChange={({ tabs, activeTabIndex }) => {
          const { query, variables, headers } = tabs[activeTabIndex] ?? {}
          setAuthorization(findAuthorization(parseHeaders(headers ?? '')))
          const isUnchanged = query === firstDocument
          updateAddress(isUnchanged ? '' : writeLink({ query: query ?? '', variables: variables ?? '' }))
        }}
      >
        <GraphiQL.Logo> </GraphiQL.Logo>
      </GraphiQL>
    </div>
  )
}

/** Returns a function that puts the fragment into the address once typing pauses. */
function useAddress(): (fragment: string) => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (fragment) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(
      () => history.replaceState(null, '', `${location.pathname}${fragment}`),
      addressPauseMs,
    )
  }
}
