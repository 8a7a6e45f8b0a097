/** Runs the work with other environment variables. */
export async function withEnvironment<Result>(
  variables: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<Result> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  try {
    return await work()
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

/** Runs the work while no program is found by its name, as on a machine without them. */
export async function withoutPrograms<Result>(work: () => Promise<Result>): Promise<Result> {
  return await withEnvironment({ PATH: '/nowhere' }, work)
}

/** Runs the work while the programs of a folder are found before all others. */
export async function withPrograms<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  return await withEnvironment({ PATH: `${folder}:${process.env.PATH}` }, work)
}
