/** Passwords that attackers try first; the most used ones of leaked lists (OWASP ASVS 6.2.4). */
let common: Promise<ReadonlySet<string>> | undefined

/** Whether the password is among the 10,000 most used of its kind, in any spelling of upper and lower case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  common ??= load()
  return (await common).has(password.toLowerCase())
}

/** Read at the first registration: the list takes 20 ms and memory that a node without sign-ups can do without. */
async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const long = dictionary['passwords-common'].filter((password) => String(password).length >= shortest)
  return new Set(long.slice(0, 10_000).map((password) => String(password).toLowerCase()))
}

/** Shorter ones are refused for their length. */
const shortest = 8
