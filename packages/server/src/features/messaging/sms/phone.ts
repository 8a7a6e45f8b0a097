import { createRequire } from 'node:module'

type PhoneLibrary = typeof import('libphonenumber-js/max')

export interface ParsedPhone {
  /** E.164: `+14155550132`. */
  readonly number: string
  /** ISO 3166-1 alpha-2; none for numbers of no country, such as +800, and for unreal test numbers. */
  readonly country: string | undefined
}

const require = createRequire(import.meta.url)
let library: PhoneLibrary | undefined

/** Loaded with the first number: a server without text messages need not carry the numbering plans. */
function loadLibrary(): PhoneLibrary {
  const loaded: PhoneLibrary = library ?? require('libphonenumber-js/max')
  library = loaded
  return loaded
}

/** ITU-T E.164 §6. */
const maxDigits = 15
/** The rest is room for separators. */
const maxLength = 64

/**
 * Reads a number in international form and checks it against the numbering plan of its country. It may hold one
 * leading `+`, ASCII digits and ` -().` only; anything else, and a number that cannot exist, is `undefined`.
 *
 * @param testNumbers numbers that count as valid whatever the plan says
 */
export function parsePhone(
  text: string,
  testNumbers: ReadonlyMap<string, string> = new Map(),
): ParsedPhone | undefined {
  if (text.length > maxLength) return undefined
  const compact = text.replace(/[ ().-]/g, '')
  if (!/^\+[0-9]+$/.test(compact)) return undefined
  const phone = loadLibrary().parsePhoneNumberFromString(compact)
  // The library takes some German numbers that are longer than any network carries.
  const isValid = phone?.isValid() === true && phone.number.length <= '+'.length + maxDigits
  if (testNumbers.has(compact)) return { number: compact, country: isValid ? phone.country : undefined }
  return isValid ? { number: phone.number, country: phone.country } : undefined
}

/** `+14155550132` → `+*******0132`. */
export function maskPhone(number: string): string {
  const plus = number.startsWith('+') ? '+' : ''
  const digits = number.slice(plus.length)
  return plus + digits.slice(-4).padStart(digits.length, '*')
}

/**
 * Types of numbers that cost their caller more, part of which may go to their owner, and those that no person reads
 * messages at. Numbers of no country are satellite phones, international networks and the premium range +979.
 */
const premiumTypes: ReadonlySet<string | undefined> = new Set([
  'PREMIUM_RATE',
  'SHARED_COST',
  'PERSONAL_NUMBER',
  'UAN',
  'PAGER',
  'VOICEMAIL',
])

/** Returns whether a number is of a range that is used to earn money by messages. @param number in E.164 */
export function isPremium({ number, country }: ParsedPhone): boolean {
  if (country === undefined) return true
  return premiumTypes.has(loadLibrary().parsePhoneNumberFromString(number)?.getType())
}

/** Returns whether messages may be sent to a number: of an allowed country, of no premium range. */
export function isReachable(phone: ParsedPhone, allowed: readonly string[]): boolean {
  return isCountryAllowed(phone.country, allowed) && !isPremium(phone)
}

/** Returns whether messages may be sent to a country; an empty list allows all. */
export function isCountryAllowed(country: string | undefined, allowed: readonly string[]): boolean {
  return allowed.length === 0 || (country !== undefined && allowed.includes(country))
}

/** `['+15005550006=123456']` → number → code. The form of the items is checked by the configuration. */
export function parseTestNumbers(list: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    list.map((item) => {
      const [number = '', code = ''] = item.split('=')
      return [number, code] as const
    }),
  )
}
