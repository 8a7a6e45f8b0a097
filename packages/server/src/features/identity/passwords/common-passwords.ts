/** Passwords that attackers try first, the most frequent ones of leaked lists (OWASP ASVS 6.2.4). */
let common: Promise<ReadonlySet<string>> | undefined

/**
 * Returns whether the password is among the 10,000 most frequent ones of its kind, in any mix of upper and
 * lower case.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  common ??= load()
  return (await common).has(password.toLowerCase())
}

/** Loads the list at the first registration. It takes 20 ms, and memory that a node without sign-ups does not need. */
async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const long = dictionary['passwords-common'].filter((password) => String(password).length >= shortest)
  return new Set(long.slice(0, 10_000).map((password) => String(password).toLowerCase()))
}

/** Shortest password of the list. Shorter ones are rejected for their length. */
const shortest = 8
