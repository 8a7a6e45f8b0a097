import { FunctionChild, functionProgram } from './child-process.ts'
import { findProblems } from './function-problems.ts'
import { type PublishedRoute, publishRoutes } from './published-routes.ts'
import { RouteTable } from './route-table.ts'

/** Time in which the folder must have been loaded. */
const loadTimeoutMs = 30_000

/**
 * Returns the routes that a folder of functions defines. A process of its own loads the folder, without a database.
 *
 * @throws Error if the functions cannot be loaded
 */
export async function readFolder(folder: string, memoryMb: number): Promise<readonly PublishedRoute[]> {
  const loaded = Promise.withResolvers<readonly PublishedRoute[]>()
  const child = new FunctionChild({
    program: functionProgram,
    folder,
    memoryMb,
    onMessage(message) {
      if (message.type === 'unloadable') loaded.reject(new Error(message.problems.join('\n')))
      if (message.type !== 'loaded') return
      const problems = findProblems(message.functions)
      if (problems.length > 0) loaded.reject(new Error(problems.join('\n')))
      else
        loaded.resolve(
          publishRoutes(new RouteTable(message.functions.filter((each) => each.kind === 'route'))),
        )
    },
    // The server logs these lines. They are not the output of a command.
    onOutput: () => undefined,
    onEnd: (reason) => loaded.reject(new Error(reason)),
  })
  const timer = setTimeout(
    () => child.kill(`it has not loaded its functions within ${loadTimeoutMs / 1000} s`),
    loadTimeoutMs,
  )
  child.send({ type: 'load', folder })
  try {
    return await loaded.promise
  } finally {
    clearTimeout(timer)
    child.kill('its functions are known')
  }
}
