import { findScheduleProblem } from '../../events/schedules/index.ts'
import type { FunctionDescription, SingleDescription } from './messages.ts'
import { singleKinds } from './single-kinds.ts'

/**
 * Returns the problems for which the server refuses to load functions.
 *
 * @param isReservedJob returns true for a type of job that the server has
 */
export function findProblems(
  functions: readonly FunctionDescription[],
  isReservedJob: (type: string) => boolean = () => false,
): string[] {
  return [...findConflicts(functions, isReservedJob), ...findFaultySchedules(functions)]
}

/** Returns problems of functions that the server cannot distinguish. */
function findConflicts(
  functions: readonly FunctionDescription[],
  isReservedJob: (type: string) => boolean,
): string[] {
  const names = new Map<string, string>()
  const jobs = new Map<string, string>()
  const addresses = new Map<string, string>()
  const inbounds = new Map<string, string>()
  const singles = new Map<string, SingleDescription>()
  return functions.flatMap((each) => {
    const { name, file } = each
    const sameName = names.get(name)
    names.set(name, file)
    const conflict =
      sameName === undefined ? [] : [`${file}: ${sameName} has a function with the name ${name}, too`]
    if (each.kind === 'job') {
      const sameJob = jobs.get(each.job)
      jobs.set(each.job, file)
      if (sameJob !== undefined) conflict.push(`${file}: ${sameJob} has the job ${each.job}, too`)
      if (isReservedJob(each.job)) conflict.push(`${file}: the job type ${each.job} is one of the server`)
    }
    if (isSingle(each)) {
      const same = singles.get(each.kind)
      singles.set(each.kind, each)
      if (same !== undefined)
        conflict.push(
          `${file}: ${name} is ${each.kind} like ${same.name} of ${same.file}; expected one of them`,
        )
    }
    if (each.kind === 'inbound') {
      const sameInbound = inbounds.get(each.inbound)
      inbounds.set(each.inbound, file)
      if (sameInbound !== undefined)
        conflict.push(`${file}: ${sameInbound} receives the messages of ${each.inbound}, too`)
    }
    if (each.kind !== 'route') return conflict
    if (/^\/+inbound(\/|$)/.test(each.path))
      conflict.push(`${file}: ${each.path} is below /inbound, which is for inbound functions`)
    const { method, path } = each
    const address = `${method} ${path.replace(/:[^/]+/g, ':')}`
    const sameAddress = addresses.get(address)
    addresses.set(address, file)
    return [
      ...conflict,
      ...(sameAddress === undefined ? [] : [`${file}: ${sameAddress} serves ${method} ${path}, too`]),
    ]
  })
}

function isSingle(description: FunctionDescription): description is SingleDescription {
  return singleKinds.some((kind) => kind === description.kind)
}

/** Returns the problems of the expressions and time zones of schedules. */
function findFaultySchedules(functions: readonly FunctionDescription[]): string[] {
  return functions.flatMap((each) => {
    if (each.kind !== 'schedule') return []
    const { file, name, expression: cronExpr, timezone } = each
    const problem = findScheduleProblem({ cronExpr, timezone })
    return problem === undefined ? [] : [`${file}: ${name}: ${problem}`]
  })
}
