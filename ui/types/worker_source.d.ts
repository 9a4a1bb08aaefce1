// The bundled worker as text; the build gives it (ui/CMakeLists.txt).
declare module "worker-source" {
  const source: string;
  export default source;
}
