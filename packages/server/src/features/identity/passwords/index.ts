export { isCommonPassword } from './common-passwords.ts'
export { createPasswordHasher, type PasswordHasher, passwordErrorTable } from './hasher.ts'
export { defaultCost } from './password-hash.ts'
