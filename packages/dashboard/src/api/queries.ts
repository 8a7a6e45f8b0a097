import { isBasaltError } from '@basaltdb/client'
import {
  keepPreviousData,
  QueryClient,
  type QueryKey,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { showToast } from '../ui/toasts.ts'
import { sessionState } from './session-state.ts'
import { requestStepUp } from './step-up.ts'
import { waitFor } from './store.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // An unavailable server pauses the query until it is available again (`connection.ts`).
      retry: (failures, error) => isBasaltError(error, 'network_error', 'timeout') && failures < 20,
      staleTime: 5_000,
    },
  },
})

/** Sends a request. Repeats it after the next sign-in if the session has ended, and after a second factor if it needs one. */
export async function inSession<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (isBasaltError(error, 'step_up_required')) {
      if (!(await requestStepUp(signal))) throw error
      return call()
    }
    if (!isBasaltError(error) || error.status !== 401) throw error
    // These errors belong to the sign-in itself, or to the proof of a second factor.
    if (isBasaltError(error, ...ofSignIn)) throw error
    await waitFor(sessionState, (state) => state === 'signed-in', signal)
    return call()
  }
}

const ofSignIn = [
  'invalid_password',
  'invalid_administrator_credentials',
  'invalid_sign_in_code',
  'invalid_password_code',
  'no_pending_admin_sign_in',
  'invalid_second_factor_code',
  'second_factor_code_used',
  'passkey_refused',
] as const

export interface ApiOptions {
  readonly enabled?: boolean
  readonly refetchIntervalMs?: number | undefined
  /** True to show the response for the previous key while the next one loads; true unless set. */
  readonly keepsPrevious?: boolean
}

/** Reads data for a view. The request is aborted when the view closes. The key begins with the name of the feature. */
export function useApi<T>(
  key: QueryKey,
  read: (signal: AbortSignal) => Promise<T>,
  { enabled = true, refetchIntervalMs, keepsPrevious = true }: ApiOptions = {},
): UseQueryResult<T> {
  return useQuery<T>({
    queryKey: key,
    queryFn: ({ signal }) => inSession(() => read(signal), signal),
    enabled,
    refetchInterval: refetchIntervalMs ?? false,
    ...(keepsPrevious ? { placeholderData: keepPreviousData } : {}),
  })
}

/** Page of a list with the cursor of the next page. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
  /** Time back to which a bounded search has read, if the bound ended the page. */
  readonly searchedTo?: string | undefined
}

/** Reads a list page by page. */
export function usePages<T>(
  key: QueryKey,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  { enabled = true, refetchIntervalMs }: ApiOptions = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => inSession(() => read(pageParam, signal), signal),
    // The first page has no cursor.
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
    enabled,
    refetchInterval: refetchIntervalMs ?? false,
    placeholderData: keepPreviousData,
  })
  return {
    rows: query.data?.pages.flatMap((page) => page.items),
    error: query.error,
    isPending: query.isPending,
    isFetching: query.isFetching,
    hasMore: query.hasNextPage,
    searchedTo: query.data?.pages.at(-1)?.searchedTo,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
    refetch: () => void query.refetch(),
  }
}

export type Pages<T> = ReturnType<typeof usePages<T>>

export interface ActionOptions<Input, Result> {
  /** Keys of the queries to refetch after the action. */
  readonly invalidates?: readonly QueryKey[]
  /** Message that confirms the action. */
  readonly done?: string | ((result: Result, input: Input) => string)
  readonly onDone?: (result: Result, input: Input) => void
  /** Target of a failure: a message of the page, or the `error` of the view. */
  readonly failure?: 'toast' | 'view'
}

/** Prepares a write that the user starts. */
export function useAction<Input = void, Result = unknown>(
  send: (input: Input) => Promise<Result>,
  { invalidates = [], done, onDone, failure = 'toast' }: ActionOptions<Input, Result> = {},
) {
  const queries = useQueryClient()
  const mutation = useMutation<Result, Error, Input>({
    mutationFn: (input) => inSession(() => send(input)),
    onSuccess(result, input) {
      for (const key of invalidates) void queries.invalidateQueries({ queryKey: key })
      if (done !== undefined) showToast(typeof done === 'string' ? done : done(result, input))
      onDone?.(result, input)
    },
    onError(error) {
      if (failure === 'toast') showToast(error.message, 'failure')
    },
  })
  return {
    run: mutation.mutate,
    /** Runs the action. Rejects with its error. */
    runAsync: mutation.mutateAsync,
    isPending: mutation.isPending,
    error: mutation.error,
    result: mutation.data,
    reset: mutation.reset,
  }
}
