import type { Name } from '../prose.ts'

/** Participles that name no kind of thing. */
const participles = 'Shown|Given|Asked|Kept|Taken|Placed|Told|Heard'
const participle = new RegExp(`^(?:${participles})(?=[A-Z0-9]|$)|(?<=[a-z0-9])(?:${participles})$`)

/** Private words as a part of a variable's, a function's or a member's name. */
const privateWords = new Set(
  `told tells heard hears asked asks ask nobody somebody whoever places place farewell disown disowned unwanted sequel impatient
  impatience patience patient companion companions looked looks`.split(/\s+/),
)

/** Rejects types named by a participle, and variables with private words. */
export function checkName({ name, kind }: Name): string | undefined {
  if (kind === 'type') {
    const match = participle.exec(name)
    return match === null ? undefined : `a type named by the participle "${match[0]}"`
  }
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase())
  const word = words.find((part, index) => {
    if (part === 'look')
      return words[index + 1] !== 'up' && words[index + 1] !== 'ahead' && words[index + 1] !== 'behind'
    if (part === 'place') return words[index - 1] !== 'in'
    return privateWords.has(part)
  })
  return word === undefined ? undefined : `"${word}" in a name`
}
