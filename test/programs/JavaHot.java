// A hot method: java JavaHot.java SECONDS.
public class JavaHot {
  static int hotMethod(int rounds) {
    int sum = 0;
    for (int i = 0; i < rounds; i++) sum = sum * 13 + (sum >>> 7) + i;
    return sum;
  }

  public static void main(String[] arguments) {
    long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
    int total = 0;
    while (System.nanoTime() < end) total += hotMethod(200_000);
    System.out.println(total);
  }
}
