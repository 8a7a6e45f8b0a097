import { later } from '../ui/later.tsx'

// The shell loads these parts when they are first shown, because most visits need none.

export const SignInPage = later(async () => (await import('./sign-in.tsx')).SignInPage)
export const SessionEndedDialog = later(async () => (await import('./sign-in.tsx')).SessionEndedDialog)
export const SecondFactorForm = later(async () => (await import('./second-factor-form.tsx')).SecondFactorForm)
export const OwnFactorsDialog = later(async () => (await import('./own-factors.tsx')).OwnFactorsDialog)
export const EnrollmentPage = later(async () => (await import('./enrollment-page.tsx')).EnrollmentPage)
export const StepUpDialog = later(async () => (await import('./step-up-dialog.tsx')).StepUpDialog)
export const KeysHelp = later(async () => (await import('./keys-help.tsx')).KeysHelp)

export const importPalette = () => import('./palette.tsx')
export const Palette = later(async () => (await importPalette()).Palette)
