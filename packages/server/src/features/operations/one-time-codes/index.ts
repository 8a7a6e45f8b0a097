export { createBackupCodes, normalizeBackupCode } from './backup-codes.ts'
export { describeTotp, findTimeStep, totpSecretBytes } from './totp.ts'
