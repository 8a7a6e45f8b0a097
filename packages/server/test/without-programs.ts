/** Runs the work while no program is found by its name, as on a machine without them. */
export async function withoutPrograms<Result>(work: () => Promise<Result>): Promise<Result> {
  const { PATH } = process.env
  process.env.PATH = '/nowhere'
  try {
    return await work()
  } finally {
    process.env.PATH = PATH
  }
}
