export { createPasswordHasher, type PasswordHasher, passwordErrorTable } from './hasher.ts'
