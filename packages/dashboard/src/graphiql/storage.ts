/** Keys of the lists of earlier documents, which GraphiQL stores with their headers. */
const histories = new Set(['graphiql:queries', 'graphiql:favorites'])

const ownKeys = () => Object.keys(localStorage).filter((key) => key.startsWith('graphiql:'))

/** Storage of GraphiQL's tabs, history and sizes. It omits headers, because they contain tokens. */
export const storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'clear' | 'length'> = {
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, value) => localStorage.setItem(key, histories.has(key) ? withoutHeaders(value) : value),
  removeItem: (key) => localStorage.removeItem(key),
  clear() {
    for (const key of ownKeys()) localStorage.removeItem(key)
  },
  get length() {
    return ownKeys().length
  },
}

function withoutHeaders(history: string): string {
  return JSON.stringify(JSON.parse(history, (key, value) => (key === 'headers' ? null : value)))
}
