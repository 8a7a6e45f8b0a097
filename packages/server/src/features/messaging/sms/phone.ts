import { createRequire } from 'node:module'
import { extname, join } from 'node:path'

type PhoneLibrary = typeof import('./phone-library.ts')

export interface ParsedPhone {
  /** Number in E.164 form: `+14155550132`. */
  readonly number: string
  /**
   * Country in ISO 3166-1 alpha-2. Undefined for numbers without a country, such as +800, and for unreal test
   * numbers.
   */
  readonly country: string | undefined
}

const require = createRequire(import.meta.url)
let library: PhoneLibrary | undefined

/**
 * Loads the library with the first number, so that a server without text messages does not load the numbering
 * plans.
 */
function loadLibrary(): PhoneLibrary {
  const path = join(import.meta.dirname, `phone-library${extname(import.meta.filename)}`)
  const loaded: PhoneLibrary = library ?? require(path)
  library = loaded
  return loaded
}

/** Maximum number of digits (ITU-T E.164 §6). */
const maxDigits = 15
/** Maximum length of a text, including separators. */
const maxLength = 64

/**
 * Parses a number in international form and checks it against the numbering plan of its country. It may
 * contain one leading `+`, ASCII digits and ` -().`. Returns undefined for any other character and for a
 * number that cannot exist.
 *
 * @param testNumbers numbers that are valid whatever the plan says
 */
export function parsePhone(
  text: string,
  testNumbers: ReadonlyMap<string, string> = new Map(),
): ParsedPhone | undefined {
  if (text.length > maxLength) return undefined
  const compact = text.replace(/[ ().-]/g, '')
  if (!/^\+[0-9]+$/.test(compact)) return undefined
  const phone = loadLibrary().parsePhoneNumberFromString(compact)
  // The library accepts some German numbers that are longer than any network carries.
  const isValid = phone?.isValid() === true && phone.number.length <= '+'.length + maxDigits
  if (testNumbers.has(compact)) return { number: compact, country: isValid ? phone.country : undefined }
  return isValid ? { number: phone.number, country: phone.country } : undefined
}

/** Masks a number: `+14155550132` → `+*******0132`. */
export function maskPhone(number: string): string {
  const plus = number.startsWith('+') ? '+' : ''
  const digits = number.slice(plus.length)
  return plus + digits.slice(-4).padStart(digits.length, '*')
}

/**
 * Types of numbers that cost their caller more and may pay their owner, and of numbers without a human
 * reader. Numbers without a country are satellite phones, international networks and the premium range +979.
 */
const premiumTypes: ReadonlySet<string | undefined> = new Set([
  'PREMIUM_RATE',
  'SHARED_COST',
  'PERSONAL_NUMBER',
  'UAN',
  'PAGER',
  'VOICEMAIL',
])

/** Returns whether a number is in a range that earns money by messages. @param number in E.164 form */
export function isPremium({ number, country }: ParsedPhone): boolean {
  if (country === undefined) return true
  return premiumTypes.has(loadLibrary().parsePhoneNumberFromString(number)?.getType())
}

/**
 * Returns whether messages may be sent to a number. Its country must be allowed, and it must not be in a
 * premium range.
 */
export function isReachable(phone: ParsedPhone, allowed: readonly string[]): boolean {
  return isCountryAllowed(phone.country, allowed) && !isPremium(phone)
}

/** Returns whether messages may be sent to a country. An empty list allows all. */
export function isCountryAllowed(country: string | undefined, allowed: readonly string[]): boolean {
  return allowed.length === 0 || (country !== undefined && allowed.includes(country))
}

/** Parses test numbers: `['+15005550006=123456']` → number → code. The configuration checks the form of the items. */
export function parseTestNumbers(list: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    list.map((item) => {
      const [number = '', code = ''] = item.split('=')
      return [number, code] as const
    }),
  )
}
